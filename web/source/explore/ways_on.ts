// From a configuration that cannot be computed to ones that can: every way is tried by the engine before it is offered.
//
// Each issue names fields and values, in its fix, its hint or its sentence. They are tried one at a time, and the one
// that leaves the fewest issues is kept, until an answer comes.

import type { Answer, Config, Field, GoodAnswer, Issue, Preset, Presets, Scalar } from '../border.js';
import { changed, lookUp, parts } from '../config_paths.js';
import { fieldName, isNumeric } from '../fields.js';
import { asNumber } from '../preset_search.js';
import type { Setting } from './answers.js';

export interface Way {
  /** The fields that change; none where a preset takes another's place. */
  sets: Setting[];
  /** What is used instead, in words. */
  use?: string;
  config: Config;
  after: GoodAnswer;
}

/** The engine, one question after another. */
export interface Trial {
  estimate(config: Config): Promise<Answer>;
  presets: Presets;
}

type ValueAt = (config: Config, path: string) => Scalar | undefined;

const mostSteps = 12;
/** More changes than these are another recipe. */
const mostSets = 6;
/** How many issues one change may add, for later ones to remove. */
const detour = 4;
const modelsTried = 12;

/** A value as links write it, or as JSON has it. */
function typed(field: Field, value: Scalar): Scalar {
  if (field.type === 'boolean') return value === true || value === '1' || value === 'true';
  return isNumeric(field) ? Number(value) : String(value);
}

const holds = (text: string, word: string) => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text);

function* valuesOf(field: Field, present: Scalar | undefined, text: string): Iterable<Scalar> {
  if (field.type === 'enum') {
    for (const option of field.options ?? []) if (holds(text, option)) yield option;
  } else if (field.type === 'boolean') {
    yield present !== true;
  } else if (isNumeric(field)) {
    const named = [...text.matchAll(/(?<![\w.-])\d+(?![\w-])/g)].map(([digits]) => Number(digits));
    for (const value of named.sort((a, b) => b - a)) if (present === undefined || value < Number(present)) yield value;
    for (let value = Number(present) / 2; value >= 1; value /= 2) if (Number.isInteger(value)) yield value;
  }
  if (field.default !== undefined) yield field.default;
}

/** Sets one field differently, the engine's own proposal first. */
function* proposals(
  issue: Issue,
  fields: readonly Field[],
  value: (path: string) => Scalar | undefined,
): Iterable<[Field, Scalar]> {
  const proposed = fields.find(field => field.path === issue.fix?.path);
  if (proposed && issue.fix) yield [proposed, typed(proposed, issue.fix.value)];
  const text = `${issue.hint} ${issue.message}`;
  const recipe = fields.filter(field => field.path.startsWith('/recipe/'));
  const own = recipe.filter(field => field.path === issue.path);
  const named = recipe.filter(field => !own.includes(field) && holds(text, fieldName(field)));
  for (const field of [...own, ...named])
    for (const one of valuesOf(field, value(field.path), text)) yield [field, one];
  // transformers knows more kinds of models than any other framework.
  const framework = recipe.find(field => fieldName(field) === 'framework');
  if (framework && issue.path.startsWith('/model/')) yield [framework, 'transformers'];
}

const keyOf = ({ path, message }: Issue) => `${path} ${message}`;
const left = (answer: Answer) => (answer.ok ? 0 : answer.issues.length);

/** Few changes of single fields, as far as one step after another finds them. */
async function byFields(engine: Trial, start: Config, valueAt: ValueAt): Promise<Way | undefined> {
  const { fields } = engine.presets;
  const sets = new Map<string, Setting>();
  const tried = new Set<string>();
  let config = start;
  let answer = await engine.estimate(config);
  for (let step = 0; step < mostSteps && !answer.ok; step++) {
    let best: { config: Config; answer: Answer; set: Setting } | undefined;
    for (const issue of answer.issues) {
      for (const [field, to] of proposals(issue, fields, path => valueAt(config, path))) {
        const from = valueAt(config, field.path) ?? '';
        const next = changed(config, field.path, to);
        const name = JSON.stringify(next);
        if (to === from || tried.has(name)) continue;
        tried.add(name);
        const then = await engine.estimate(next);
        if (!then.ok && then.issues.some(one => keyOf(one) === keyOf(issue))) continue;
        if (left(then) >= (best ? left(best.answer) : left(answer) + detour)) continue;
        best = { config: next, answer: then, set: { path: field.path, from: sets.get(field.path)?.from ?? from, to } };
      }
      if (best && left(best.answer) < left(answer)) break;
    }
    if (!best) return undefined;
    ({ config, answer } = best);
    sets.set(best.set.path, best.set);
  }
  const made = [...sets.values()].filter(({ from, to }) => from !== to);
  return answer.ok && made.length <= mostSets ? { sets: made, config, after: answer } : undefined;
}

/** The model that the recipe was written for, or the one of nearest size that can be computed. */
async function byModel(engine: Trial, config: Config): Promise<Way | undefined> {
  const { models, gpus, recipes } = engine.presets;
  const named = (list: Preset[], id: unknown) => list.find(one => one.id === id);
  const attempt = async (next: Config, use: string): Promise<Way | undefined> => {
    const after = await engine.estimate(next);
    return after.ok ? { sets: [], use, config: next, after } : undefined;
  };
  const recipe = named(recipes, config.recipe?.preset);
  const origin = named(models, recipe?.model);
  if (origin && origin.id !== config.model?.preset) {
    const gpu = named(gpus, recipe?.gpu);
    const own = { ...config, model: { preset: origin.id } };
    return (
      (await attempt(own, `${origin.name}, for which this recipe was written`)) ??
      (gpu &&
        attempt(
          { ...own, gpu: { preset: gpu.id } },
          `${origin.name} on ${gpu.name}, for which this recipe was written`,
        ))
    );
  }
  const present = named(models, config.model?.preset);
  if (!present) return undefined;
  const far = (model: Preset) => Math.abs(Math.log(asNumber(model.parameters) / asNumber(present.parameters)));
  const near = models
    .filter(model => model !== present && asNumber(model.parameters) > 0)
    .sort((a, b) => far(a) - far(b));
  for (const model of near.slice(0, modelsTried)) {
    const way = await attempt({ ...config, model: { preset: model.id } }, `${model.name}, a model of about that size`);
    if (way) return way;
  }
  return undefined;
}

/** The same model without the recipe. */
async function byDefaults(engine: Trial, config: Config): Promise<Way | undefined> {
  if (!config.recipe?.preset) return undefined;
  const { recipe: _, ...next } = config;
  const after = await engine.estimate(next);
  return after.ok
    ? { sets: [], use: 'the defaults of transformers in place of this recipe', config: next, after }
    : undefined;
}

/** Ways that lead on, the nearest first. `value` is what a field holds that the configuration itself does not name. */
export async function waysOn(
  engine: Trial,
  config: Config,
  value: (path: string) => Scalar | undefined,
): Promise<Way[]> {
  const valueAt = (at: Config, path: string) => {
    const [section, ...names] = parts(path);
    return lookUp(at[section], names) ?? value(path);
  };
  const found = [
    await byFields(engine, config, valueAt),
    await byModel(engine, config),
    await byDefaults(engine, config),
  ];
  return found.filter(way => way !== undefined);
}
