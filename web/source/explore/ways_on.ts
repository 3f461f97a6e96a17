// From a configuration that cannot be computed to ones that can: the engine's own repair, another model, no recipe.
// Every way is tried by the engine before it is offered.

import type { Answer, Config, GoodAnswer, Preset, Presets, Setting } from '../border.js';
import { asNumber } from '../format.js';

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

const modelsTried = 12;

async function attempt(engine: Trial, config: Config, way: Pick<Way, 'sets' | 'use'>): Promise<Way | undefined> {
  const after = await engine.estimate(config);
  return after.ok ? { ...way, config, after } : undefined;
}

/** The model that the recipe was written for, or the one of nearest size that can be computed. */
async function byModel(engine: Trial, config: Config): Promise<Way | undefined> {
  const { models, gpus, recipes } = engine.presets;
  const named = (list: Preset[], id: unknown) => list.find(one => one.id === id);
  const use = (words: string) => ({ sets: [], use: words });
  const recipe = named(recipes, config.recipe?.preset);
  const origin = named(models, recipe?.model);
  if (origin && origin.id !== config.model?.preset) {
    const own = { ...config, model: { preset: origin.id } };
    const alone = await attempt(engine, own, use(`${origin.name}, for which this recipe was written`));
    const gpu = named(gpus, recipe?.gpu);
    if (alone || !gpu) return alone;
    const both = `${origin.name} on ${gpu.name}, for which this recipe was written`;
    return attempt(engine, { ...own, gpu: { preset: gpu.id } }, use(both));
  }
  const present = named(models, config.model?.preset);
  if (!present) return undefined;
  const far = (model: Preset) => Math.abs(Math.log(asNumber(model.parameters) / asNumber(present.parameters)));
  const others = models.filter(model => model !== present && asNumber(model.parameters) > 0);
  for (const model of others.sort((a, b) => far(a) - far(b)).slice(0, modelsTried)) {
    const other = { ...config, model: { preset: model.id } };
    const way = await attempt(engine, other, use(`${model.name}, a model of about that size`));
    if (way) return way;
  }
  return undefined;
}

/** Ways that lead on, the nearest first. */
export async function waysOn(engine: Trial, config: Config): Promise<Way[]> {
  const refused = await engine.estimate(config);
  if (refused.ok) return [];
  const { repair } = refused;
  const { recipe, ...bare } = config;
  const found = [
    repair && (await attempt(engine, repair.config, { sets: repair.sets })),
    // Where fields help, another model does only if it is the recipe's own.
    repair && !recipe?.preset ? undefined : await byModel(engine, config),
    recipe?.preset
      ? await attempt(engine, bare, { sets: [], use: 'the defaults of transformers in place of this recipe' })
      : undefined,
  ];
  return found.filter(way => way !== undefined);
}
