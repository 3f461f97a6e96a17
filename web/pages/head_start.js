// What lets a page begin sooner: index.html carries its style sheet and what a first visit shows. Its script and its
// recorded answers follow once that is on the screen; opened with a link it asks for them, and for the engine, at once.
// An embedded page always asks for the engine. The content policy names what stands inline by its hash.
import { firstView } from './first_view.js';
import { hash, policy } from './frame.js';
import { firstLink } from './prerender.js';

const fetched = (address, as, rel = 'preload') => `<link rel="${rel}" as="${as}" crossorigin href="${address}">`;

/**
 * Runs in the page before anything else. What is drawn in the page is for those who come without a link; where nothing
 * is painted, as in a hidden tab, the calculator begins after a while.
 */
const early = ({ calculator, recorded, wasm, instance }) => `\
{
const ahead = (rel, as, href) =>
  document.head.append(Object.assign(document.createElement('link'), { rel, as, href, crossOrigin: '' }));
const fetched = () => {
  ahead('modulepreload', 'script', '${calculator}');
  ahead('preload', 'fetch', '${recorded}');
};
const opened = (location.hash || location.search).slice(1);
const first = opened === '' || opened === '${firstLink}';
let begun = false;
const begin = () => {
  if (!begun && first) fetched();
  begun = true;
  import('${calculator}');
};
if (!first) {
  document.documentElement.classList.add('linked');
  fetched();
}
addEventListener('DOMContentLoaded', () => {
  requestAnimationFrame(() => setTimeout(begin));
  setTimeout(begin, 300);
});
const asked = opened.replace(/view\\.\\w+=\\w+&/g, '');
if (/(^|&)(a\\.)?model=/.test(asked) && asked !== '${firstLink}') {
  ahead('preload', 'fetch', '${wasm}');
  ahead('modulepreload', 'script', '${instance}');
}
}`;

export function headStart(plugins) {
  return {
    name: 'head-start',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      async handler(html, { bundle, filename }) {
        const named = pattern => `./${Object.keys(bundle).find(name => pattern.test(name))}`;
        const wasm = named(/\.wasm$/);
        const instance = named(/instance-[\w-]+\.js$/);
        if (filename.endsWith('embed.html'))
          return html.replace(
            '</head>',
            `${fetched(wasm, 'fetch')}\n${fetched(instance, 'script', 'modulepreload')}\n</head>`,
          );
        if (!filename.endsWith('index.html')) return html;
        const recorded = named(/recorded-[\w-]+\.json$/);
        const styles = String(bundle[named(/site-[\w-]+\.css$/).slice(2)].source).trim();
        const calculator = named(/^trainmem-calculator\.js$/);
        const script = early({ calculator, recorded, wasm, instance });
        const view = await firstView(plugins, String(bundle[recorded.slice(2)].source));
        return html
          .replace(policy(), () => policy({ scripts: hash(script), styles: hash(styles) + hash(view.styles) }))
          .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${styles}</style>\n<script>${script}</script>`)
          .replace(/<script type="module"[^>]*><\/script>/, '')
          .replace(
            '<trainmem-calculator page>',
            () => `<trainmem-calculator page recorded="${recorded}">
<template shadowrootmode="open"><style>${view.styles}</style>${view.content}</template>`,
          );
      },
    },
  };
}
