// Ways from a refused configuration to one that can be computed, against a small engine with one rule.

import type { Answer, Config, Preset } from '@source/border.js';
import { waysOn } from '@source/explore/ways_on.js';
import { describe, expect, test } from 'vitest';

const models: Preset[] = [
  { id: 'odd', name: 'Odd', parameters: 7e9 },
  { id: 'near', name: 'Near', parameters: 8e9 },
  { id: 'far', name: 'Far', parameters: 70e9 },
];
const recipes: Preset[] = [{ id: 'big', name: 'Big', model: 'far' }];
const presets = { models, gpus: [], recipes, fields: [] };

const refusal: Answer = {
  ok: false,
  issues: [{ code: 'x', path: '/recipe/tensor_parallel', message: 'No.', hint: '' }],
};
const sets = [{ path: '/recipe/tensor_parallel', from: 8, to: 4 }];

/** Odd takes the tensor parallelism 4, which its refusals say if `repaired`, and Far all but none. */
function small(repaired: boolean) {
  const asked: Config[] = [];
  const estimate = async (config: Config): Promise<Answer> => {
    asked.push(config);
    const { model, recipe } = config;
    const tensor = recipe?.tensor_parallel ?? (recipe?.preset ? 8 : 1);
    if (model?.preset !== 'odd' || tensor === 4 || (tensor === 1 && recipe === undefined))
      return { ok: true, config } as unknown as Answer;
    const repair = { sets, config: { ...config, recipe: { ...recipe, tensor_parallel: 4 } }, link: '' };
    return repaired ? { ...refusal, repair } : refusal;
  };
  return { estimate, presets, asked };
}

describe('ways on', () => {
  test('the engine\u2019s repair comes first, then the model of the recipe, then none', async () => {
    const found = await waysOn(small(true), { model: { preset: 'odd' }, recipe: { preset: 'big' } });
    expect(found.map(({ sets: changes, use }) => use ?? changes)).toEqual([
      sets,
      'Far, for which this recipe was written',
      'the defaults of transformers in place of this recipe',
    ]);
    expect(found[0]!.config.recipe).toEqual({ preset: 'big', tensor_parallel: 4 });
    expect(found[1]!.config.model).toEqual({ preset: 'far' });
  });

  test('where fields help, the model stays', async () => {
    const found = await waysOn(small(true), { model: { preset: 'odd' }, recipe: { tensor_parallel: 8 } });
    expect(found.map(({ use }) => use)).toEqual([undefined]);
  });

  test('where no field helps, the model of nearest size does', async () => {
    const found = await waysOn(small(false), { model: { preset: 'odd' }, recipe: { tensor_parallel: 8 } });
    expect(found.map(({ use }) => use)).toEqual(['Near, a model of about that size']);
  });

  test('nothing that the engine refuses is offered', async () => {
    const never = { estimate: async () => refusal, presets };
    expect(await waysOn(never, { model: { preset: 'odd' }, recipe: { preset: 'big' } })).toEqual([]);
  });
});
