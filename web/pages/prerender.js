// Puts exact numbers into the page at build time, for readers without JavaScript and for link previews: the default
// configuration, and some recipes on the model and GPU that it was written for, computed by the engine that the page
// will load; and the default configuration's answer, shown until that engine answers. Also lets the browser fetch the
// engine while it still reads the page.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';

const most = 8;
const first = JSON.parse(readFileSync(new URL('../source/default_config.json', import.meta.url), 'utf8'));
const gib = bytes => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
const plain = text => text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`);

function rows(engine) {
  const { models, gpus, recipes } = JSON.parse(engine.presets());
  const cases = [
    {
      name: 'Full fine-tuning, one GPU, defaults of transformers',
      model: first.model.preset,
      gpu: first.gpu.preset,
    },
    ...recipes.map(({ id, name, model, gpu }) => ({ name, model, gpu, recipe: id })),
  ];
  const found = [];
  for (const { name, model, gpu, recipe } of cases) {
    if (found.length === most) break;
    const config = { model: { preset: model }, gpu: { preset: gpu }, ...(recipe && { recipe: { preset: recipe } }) };
    let answer;
    try {
      answer = JSON.parse(engine.estimate(JSON.stringify(config)));
    } catch {
      continue; // A trap: the page will say so to those who open this configuration.
    }
    if (!answer.ok) continue;
    const { device, allocated, verdict } = answer.result;
    const title = list => list.find(({ id }) => id === (list === models ? model : gpu)).name;
    found.push([
      `<a href="#${answer.link}">${plain(name)}</a>`,
      plain(title(models)),
      plain(title(gpus)),
      gib(device.expected),
      allocated.toLocaleString('en'),
      verdict.fit === 'fits' ? 'fits' : verdict.fit === 'tight' ? 'tight' : 'does not fit',
    ]);
  }
  return found;
}

/** Members of a result that Summary of source/border.ts has; of `runtime` the bytes alone. */
const shown = [
  'allocated',
  'reserved',
  'device',
  'peak_phase',
  'peak_where',
  'components',
  'verdict',
  'num_gpus',
  'global_batch_size',
];

/** source/first_answer.ts reads it. */
function firstAnswer(engine) {
  const { result, config } = JSON.parse(engine.estimate(JSON.stringify(first)));
  const summary = Object.fromEntries(shown.map(name => [name, result[name]]));
  summary.runtime = result.runtime.map(({ bytes }) => ({ bytes }));
  const { models, gpus } = JSON.parse(engine.presets());
  const name = (list, { preset }) => list.find(({ id }) => id === preset).name;
  const names = {
    model: name(models, first.model),
    gpu: name(gpus, first.gpu),
    recipe: `Defaults of ${config.recipe.framework}`,
  };
  const json = JSON.stringify({ names, result: summary }).replaceAll('<', '\\u003c');
  return `<script type="application/json">${json}</script>`;
}

function table(found) {
  const head = ['Recipe', 'Model', 'GPU', 'Needs', 'Allocated at the peak, bytes', ''];
  const line = (cells, tag) => `<tr>${cells.map(cell => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<table>${line(head, 'th')}${found.map(cells => line(cells, 'td')).join('')}</table>`;
}

export function prerender(engineModule) {
  return {
    name: 'prerender',
    transformIndexHtml: {
      order: 'post',
      async handler(html, { bundle, filename }) {
        if (!bundle || !filename.endsWith('index.html')) return html;
        const engine = await loadEngine(dirname(engineModule));
        const wasm = Object.keys(bundle).find(name => name.endsWith('.wasm') && name.includes('_first'));
        return {
          html: html
            .replace('<!-- exact numbers -->', () => table(rows(engine)))
            .replace('<!-- first answer -->', () => firstAnswer(engine)),
          tags: [
            {
              tag: 'link',
              attrs: {
                rel: 'preload',
                as: 'fetch',
                type: 'application/wasm',
                crossorigin: true,
                fetchpriority: 'low', // after what draws the page
                href: `./${wasm}`,
              },
              injectTo: 'head',
            },
          ],
        };
      },
    },
  };
}
