// Fills places in the pages of site/ from the files that they speak of, so that nothing is written twice:
// <!-- recipe: hugo/hugo.toml --> is a file of site/recipes, <!-- link keys --> the engine's own table of fields.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';
import { grouped } from '../source/format.ts';

export const plain = text => String(text).replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`);

/** Long names may break where their parts end. */
const breakable = text => plain(text).replace(/(?<=[._])/g, '<wbr>');

const recipe = path => {
  const text = readFileSync(fileURLToPath(new URL(`../../site/recipes/${path}`, import.meta.url)), 'utf8').trimEnd();
  return `<pre tabindex="0" aria-label="${plain(path)}"><code>${plain(text)}</code></pre>`;
};

const number = value => grouped(value, 20);

function values({ type, options, minimum, maximum, unit }) {
  if (options) return options.join(', ');
  if (type === 'boolean') return '0 or 1';
  if (type === 'text') return 'text';
  return `${number(minimum)} to ${number(maximum)}${unit ? ` ${unit}` : ''}`;
}

function otherwise({ default: value, minimum }) {
  if (typeof value === 'boolean') return String(Number(value));
  if (typeof value !== 'number') return value ?? '';
  return value < minimum ? 'must be given' : number(value);
}

function linkKeys(engine) {
  const { fields } = JSON.parse(engine.presets());
  const rows = fields.map(
    field =>
      `<tr><td><code>${field.key}</code></td><td>${breakable(field.path.slice(1).replaceAll('/', '.'))}<small>${plain(field.meaning)}</small></td><td>${breakable(values(field))}</td><td>${breakable(otherwise(field))}</td></tr>`,
  );
  return `<div class="wide" tabindex="0" role="group" aria-label="Keys of links"><table class="keys"><tr><th>Key</th><th>Field</th><th>Values</th><th>Without it</th></tr>${rows.join('')}</table></div>`;
}

export function fill(engineModule) {
  return {
    name: 'fill',
    transformIndexHtml: {
      order: 'pre',
      async handler(html) {
        const filled = html.replace(/<!-- recipe: ([\w./-]+) -->/g, (_, path) => recipe(path));
        if (!filled.includes('<!-- link keys -->')) return filled;
        return filled.replace('<!-- link keys -->', linkKeys(await loadEngine(dirname(engineModule))));
      },
    },
  };
}
