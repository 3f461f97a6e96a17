// What a first visit shows, written into the page: the calculator's own templates, drawn at build time from the
// recorded answers. Script draws the same in its place.
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const at = path => fileURLToPath(new URL(path, import.meta.url));
const plain = value => String(value).replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`);

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

/**
 * A template of Lit as HTML. The policy of the page allows no style attributes: what they would say is collected in
 * `styles`, one rule each.
 */
function written(value, styles) {
  if (value === null || value === undefined || value === false || typeof value === 'symbol') return '';
  if (Array.isArray(value)) return value.map(one => written(one, styles)).join('');
  if (value._$litDirective$) return written(new value._$litDirective$({ type: 2 }).render(...value.values), styles);
  if (!value.strings) return plain(value);
  let text = value.strings[0];
  value.values.forEach((part, index) => {
    const [, kind, name] = text.match(/\s([@?.]?)([\w-]+)=$/) ?? [];
    const inside = text.lastIndexOf('<') > text.lastIndexOf('>');
    if (name !== undefined) {
      text = text.slice(0, text.lastIndexOf(kind + name)).trimEnd();
      if (kind === '.' && name === 'style') text += ` data-style="${styles.push(part) - 1}"`;
      else if (kind === '.' || kind === '?') text += part ? ` ${name}` : '';
      else if (kind === '' && typeof part !== 'symbol') text += ` ${name}="${plain(part)}"`;
    } else text += inside ? plain(part ?? '') : written(part, styles);
    text += value.strings[index + 1];
  });
  return text;
}

/** It answers nothing before script has come; opened with a link, the page hides it (site.css). */
const frame = `[inert]{visibility:var(--recorded,visible)}slot{display:block}@media(scripting:none){.toolbar,.remedy button,.pick>svg{display:none}}`;

/** The content of the element's shadow, and its style sheet. */
export async function firstView(plugins, recorded) {
  const { draw, sheets } = await element(plugins);
  const styles = [];
  const content = written(draw(JSON.parse(recorded)), styles).replace(/\s+/g, ' ');
  const rules = styles.map((style, index) => `[data-style='${index}']{${style}}`);
  return {
    content: `<div inert>${content}</div><slot></slot>`,
    styles: [...sheets, ...rules, frame].join(''),
  };
}
