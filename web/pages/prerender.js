// Puts exact numbers into the page at build time, for readers without JavaScript and for link previews: the default
// configuration, and some recipes on the model and GPU that it was written for, computed by the engine that the page
// will load. Beside the page, in assets/recorded-*.json, that engine's answers to what a first visit asks.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';

const most = 8;
const source = name => JSON.parse(readFileSync(new URL(`../source/${name}.json`, import.meta.url), 'utf8'));
const first = source('default_config');
const common = new Set(Object.values(source('common_fields')).flatMap(names => names.map(name => `/recipe/${name}`)));
/** The link of the default configuration. */
export const firstLink = `v=1&model=${first.model.preset}&gpu=${first.gpu.preset}&end`;
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
    const { device, least, allocated, verdict } = answer.result;
    const title = list => list.find(({ id }) => id === (list === models ? model : gpu)).name;
    found.push([
      `<a href="#${answer.link}">${plain(name)}</a>`,
      plain(title(models)),
      plain(title(gpus)),
      verdict.fit === 'tight' && verdict.margin < 0 ? `at least ${gib(least)}` : gib(device.expected),
      allocated.toLocaleString('en'),
      verdict.fit === 'fits' ? 'fits' : verdict.fit === 'tight' ? 'tight' : 'does not fit',
    ]);
  }
  return found;
}

/** source/recorded.ts puts them back. */
function leaveOutDefaults(fields, config) {
  for (const { path, default: value } of fields) {
    const names = path.split('/').slice(1);
    const last = names.pop();
    const group = names.reduce((at, name) => at[name], config);
    if (group[last] === value) delete group[last];
  }
}

/** What a first visit asks, and the answers; source/recorded.ts reads them. */
function recorded(engine) {
  const answers = {};
  const ask = (name, argument) => {
    const answer = JSON.parse(engine[name](argument));
    answers[`${name} ${argument}`] = answer;
    return answer;
  };
  const answer = ask('estimate', JSON.stringify(first));
  ask('read_link', firstLink);
  const { advice } = ask('advice', firstLink);
  for (const one of [...advice.suggestions, ...advice.remedies]) {
    const { device, host, num_gpus, verdict } = one.after;
    delete verdict.sentence;
    one.after = { device, host, num_gpus, verdict };
  }
  const { models, fields, ...others } = JSON.parse(engine.presets());
  leaveOutDefaults(fields, answer.config);
  // What the page says nothing of is not sent: of parameters it says three digits.
  const presets = {
    models: models.map(({ active_parameters, model_type, ...model }) => ({
      ...model,
      parameters: Number(model.parameters.toPrecision(3)),
    })),
    fields: fields.map(({ name, key, meaning, ...field }) => ({
      ...field,
      unit: field.unit || undefined,
      ...(common.has(field.path) && { meaning }),
    })),
    ...others,
  };
  const meanings = fields.filter(({ path }) => !common.has(path)).map(({ path, meaning }) => [path, meaning]);
  return { version: engine.version(), presets, meanings: Object.fromEntries(meanings), answers };
}

function table(found) {
  const head = ['Recipe', 'Model', 'GPU', 'Needs', 'Allocated at the peak, bytes', 'Verdict'];
  const line = (cells, tag) => `<tr>${cells.map(cell => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<table>${line(head, 'th')}${found.map(cells => line(cells, 'td')).join('')}</table>`;
}

export function prerender(engineModule) {
  return {
    name: 'prerender',
    apply: 'build',
    async buildStart() {
      const { meanings, ...others } = recorded(await loadEngine(dirname(engineModule)));
      const text = JSON.stringify(meanings);
      const fileName = `assets/meanings-${createHash('sha256').update(text).digest('hex').slice(0, 8)}.json`;
      this.emitFile({ type: 'asset', fileName, source: text });
      const source = JSON.stringify({ ...others, meanings: `./${fileName}` });
      this.emitFile({ type: 'asset', name: 'recorded.json', source });
    },
    transformIndexHtml: {
      order: 'post',
      async handler(html, { bundle, filename }) {
        if (!bundle || !filename.endsWith('index.html')) return html;
        const engine = await loadEngine(dirname(engineModule));
        return html.replace('<!-- exact numbers -->', () => table(rows(engine)));
      },
    },
  };
}
