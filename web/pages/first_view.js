// What a first visit shows, written into the page: the calculator's own templates, drawn at build time from the
// recorded answers. Script draws the same in its place.
import { fileURLToPath } from 'node:url';
import { render } from '@lit-labs/ssr';
import { collectResult } from '@lit-labs/ssr/lib/render-result.js';
import { build } from 'vite';
import { neededStyles } from './needed_styles.js';

const at = path => fileURLToPath(new URL(path, import.meta.url));

/** A browser's global things that the element takes hold of when it is made. */
const browser = { matchMedia: () => ({ matches: false, addEventListener() {} }) };

/** The element's class, for Node. */
async function element(plugins) {
  const nothingLater = {
    name: 'nothing-later',
    enforce: 'pre',
    resolveId: (id, _, { kind }) => {
      if (kind === 'dynamic-import') return { id, external: true };
      return id === '@engine-wasm' ? `\0${id}` : undefined;
    },
    load: id => (id === '\0@engine-wasm' ? 'export default ""' : undefined),
  };
  const { output } = await build({
    configFile: false,
    logLevel: 'warn',
    plugins: [nothingLater, ...plugins],
    ssr: { noExternal: true },
    build: {
      write: false,
      ssr: at('../source/first_view.ts'),
      minify: false,
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  Object.assign(globalThis, browser);
  return import(`data:text/javascript;base64,${Buffer.from(output[0].code).toString('base64')}`);
}

/** It answers nothing before script has come; opened with a link, the page hides it, and lets it go (site.css). */
const frame = `[inert]{visibility:var(--recorded,visible);animation:var(--leave,none)}@keyframes leave{to{block-size:0;overflow:hidden}}slot{display:block}@media(scripting:none){.toolbar,.remedy button,.pick>.chevron{display:none}}`;

/** The content of the element's shadow, and its style sheet. */
export async function firstView(plugins, recorded) {
  const { draw, sheets } = await element(plugins);
  const drawn = await collectResult(render(draw(JSON.parse(recorded))));
  // Nobody hydrates it: no marks of Lit. A property that is false is no attribute. The policy of the page allows no
  // style attributes: each becomes a rule.
  const rules = [];
  const content = drawn
    .replace(/<!--.*?-->|<\?>/gs, '')
    .replace(/\schecked="(\w+)"/g, (_, checked) => (checked === 'true' ? ' checked' : ''))
    .replace(/\sstyle="([^"]*)"/g, (_, style) => ` data-style="${rules.push(style) - 1}"`)
    .replace(/\s+/g, ' ');
  return {
    content: `<div inert>${content}</div><slot></slot>`,
    styles: [
      neededStyles(sheets.join(''), content),
      ...rules.map((style, index) => `[data-style='${index}']{${style}}`),
      frame,
    ].join(''),
  };
}
