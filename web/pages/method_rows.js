// The rules behind the rows, for the page on method: what the engine itself says of every row that is alive at the
// peak of some recipe, on the model and GPU it was written for. One line is one rule: why, for which rows, an example
// with its numbers put in, and the source.
import { dirname } from 'node:path';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';
import { componentLabels, componentMeanings, componentNames } from '../source/components.ts';
import { formula, sentence } from '../source/format.ts';
import { plain } from './fill.js';

const shownNames = 6;

function configurations(engine) {
  const { recipes } = JSON.parse(engine.presets());
  const own = recipes.map(({ id, model, gpu }) => ({
    model: { preset: model },
    gpu: { preset: gpu },
    recipe: { preset: id },
  }));
  // Without recomputation the peak holds what forward keeps.
  return [...own, ...own.map(({ recipe, ...rest }) => ({ ...rest, recipe: { ...recipe, recomputation: 'none' } }))];
}

/** Temporaries differ by the operation alone. */
const reason = why => why.replace(/^temporary: result of .*, in use/, 'temporary: a result, in use');

/** Of each component its rules, those with the most rows first. */
export function rulesOf(engine) {
  const rules = new Map(componentNames.map(name => [name, new Map()]));
  for (const config of configurations(engine)) {
    const answer = JSON.parse(engine.estimate(JSON.stringify(config)));
    for (const row of answer.result?.rows ?? []) {
      const found = rules.get(row.component);
      const key = `${reason(row.why)}\n${row.source}`;
      if (!found.has(key)) found.set(key, { why: reason(row.why), source: row.source, example: row, names: new Set() });
      found.get(key).names.add(row.name.replace(`${row.component}.`, ''));
    }
  }
  return [...rules]
    .map(([component, found]) => ({
      component,
      rules: [...found.values()].sort((a, b) => b.names.size - a.names.size),
    }))
    .filter(({ rules: some }) => some.length > 0);
}

function line({ why, source, example, names }) {
  const shown = [...names].slice(0, shownNames).join(', ');
  const others = names.size > shownNames ? ` and ${names.size - shownNames} more` : '';
  const bytes = `<code>${plain(formula(example.formula))}</code> = ${example.bytes.toLocaleString('en')}`;
  return `<tr><td>${plain(sentence(why))}</td><td>${plain(shown + others)}</td><td>${bytes}</td><td>${plain(source)}</td></tr>`;
}

function section({ component, rules }) {
  const label = componentLabels[component];
  const head = ['Why it is kept', 'Rows', 'Bytes of one of them', 'Source'].map(text => `<th scope="col">${text}</th>`);
  const count = rules.length === 1 ? 'one rule' : `${rules.length} rules`;
  return `<details><summary><strong>${label}</strong>: ${count}. ${plain(componentMeanings[component])}</summary>
<div class="wide rules" tabindex="0" role="group" aria-label="Rules of ${plain(label)}"><table><tr>${head.join('')}</tr>${rules.map(line).join('')}</table></div></details>`;
}

export function methodRows(engineModule) {
  return {
    name: 'method-rows',
    transformIndexHtml: {
      order: 'pre',
      async handler(html) {
        if (!html.includes('<!-- rows -->')) return html;
        const engine = await loadEngine(dirname(engineModule));
        return html.replace('<!-- rows -->', () => rulesOf(engine).map(section).join('\n'));
      },
    },
  };
}
