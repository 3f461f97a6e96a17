// What lets a page begin sooner: index.html carries its style sheet, asks at once for its recorded answers, and, when
// it is opened with a link, for the engine; an embedded page always asks for the engine. Its script is fetched as soon,
// and runs once the page's text is on the screen. Its content policy names what stands inline by its hash.
import { createHash } from 'node:crypto';
import { policy } from './frame.js';
import { firstLink } from './prerender.js';

export const hash = text => ` 'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const fetched = (address, as, rel = 'preload') => `<link rel="${rel}" as="${as}" crossorigin href="${address}">`;

/**
 * Runs in the page before anything else: a link to another configuration than the recorded one wants the engine, and
 * the calculator begins after the first paint; where nothing is painted, as in a hidden tab, after a while.
 */
const early = (calculator, wasm, instance) => `\
{
const begin = () => import('${calculator}');
addEventListener('DOMContentLoaded', () => {
  requestAnimationFrame(() => setTimeout(begin));
  setTimeout(begin, 300);
});
const opened = (location.hash || location.search).slice(1).replace(/view\\.\\w+=\\w+&/, '');
if (/(^|&)(a\\.)?model=/.test(opened) && opened !== '${firstLink}')
  for (const [rel, as, href] of [['preload', 'fetch', '${wasm}'], ['modulepreload', 'script', '${instance}']])
    document.head.append(Object.assign(document.createElement('link'), { rel, as, href, crossOrigin: '' }));
}`;

export function headStart() {
  return {
    name: 'head-start',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle, filename }) {
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
        const script = early(calculator, wasm, instance);
        return html
          .replace(policy(), () => policy({ scripts: hash(script), styles: hash(styles) }))
          .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${styles}</style>\n<script>${script}</script>`)
          .replace(
            /<script type="module"[^>]*><\/script>/,
            () => `${fetched(recorded, 'fetch')}\n${fetched(calculator, 'script', 'modulepreload')}`,
          )
          .replace('<trainmem-calculator page>', () => `<trainmem-calculator page recorded="${recorded}">`);
      },
    },
  };
}
