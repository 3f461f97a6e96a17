// Ways from a refused configuration to one that can be computed, against a small engine with three rules.

import type { Answer, Config, Field, Issue, Preset } from '@source/border.js';
import { waysOn } from '@source/explore/ways_on.js';
import { describe, expect, test } from 'vitest';

const integer = (name: string, start: number): Field => ({
  path: `/recipe/${name}`,
  name,
  type: 'integer',
  minimum: 1,
  maximum: 1e6,
  default: start,
});
const fields: Field[] = [
  integer('tensor_parallel', 1),
  integer('sequence_length', 4096),
  {
    path: '/recipe/framework',
    name: 'framework',
    type: 'enum',
    options: ['transformers', 'megatron'],
    default: 'transformers',
  },
  { path: '/recipe/fused_norm', name: 'fused_norm', type: 'boolean', default: false },
];
const models: Preset[] = [
  { id: 'odd', name: 'Odd', parameters: 7e9 },
  { id: 'near', name: 'Near', parameters: 8e9 },
  { id: 'far', name: 'Far', parameters: 70e9 },
];
const recipes: Preset[] = [{ id: 'big', name: 'Big', model: 'far', recipe: { tensor_parallel: 8 } }];

/** Odd models: 12 heads, 1024 positions, and no fused norm; under Megatron they have no forward at all. */
function issuesOf({ model, recipe }: Config): Issue[] {
  const issues: Issue[] = [];
  const add = (path: string, message: string, hint: string, fix?: Issue['fix']) =>
    issues.push({ code: 'x', path, message, hint, ...(fix && { fix }) });
  if (model?.preset !== 'odd') return issues;
  const tensor = Number(recipe?.tensor_parallel ?? (recipe?.preset ? 8 : 1));
  if (12 % tensor !== 0)
    add('/recipe/tensor_parallel', `12 heads do not divide by ${tensor}.`, '12 divides by 6 and by 12.');
  const length = Number(recipe?.sequence_length ?? 1024);
  if (length > 1024) add('/recipe/sequence_length', `${length} is longer than 1024.`, 'Give at most 1024.');
  if (recipe?.fused_norm) add('/recipe/fused_norm', 'Not modelled.', '', { path: '/recipe/fused_norm', value: '0' });
  if (recipe?.framework === 'megatron') add('/model/model_type', 'No forward.', 'Choose another model.');
  if (recipe?.data_parallel) add('/model/model_type', 'No sharding of this.', '');
  return issues;
}

async function estimate(config: Config): Promise<Answer> {
  const issues = issuesOf(config);
  return issues.length > 0 ? { ok: false, issues } : ({ ok: true, config } as unknown as Answer);
}

const ways = (config: Config) =>
  waysOn({ estimate, presets: { models, gpus: [], recipes, fields } }, config, path =>
    path === '/recipe/tensor_parallel' && config.recipe?.preset
      ? 8
      : fields.find(field => field.path === path)?.default,
  );

describe('ways on', () => {
  test('every issue is answered by one value of one field, all of them together', async () => {
    const [way] = await ways({ model: { preset: 'odd' }, recipe: { tensor_parallel: 8, sequence_length: 4096 } });
    expect(way?.sets).toEqual([
      { path: '/recipe/tensor_parallel', from: 8, to: 6 },
      { path: '/recipe/sequence_length', from: 4096, to: 1024 },
    ]);
    expect(issuesOf(way!.config)).toEqual([]);
  });

  test('the engine\u2019s own proposal is understood as its field is', async () => {
    const [way] = await ways({ model: { preset: 'odd' }, recipe: { fused_norm: true } });
    expect(way?.sets).toEqual([{ path: '/recipe/fused_norm', from: true, to: false }]);
  });

  test('a model that one framework does not know is tried under transformers', async () => {
    const [way] = await ways({ model: { preset: 'odd' }, recipe: { framework: 'megatron' } });
    expect(way?.sets).toEqual([{ path: '/recipe/framework', from: 'megatron', to: 'transformers' }]);
  });

  test('a recipe leads to the model that it was written for, and to its absence', async () => {
    const found = await ways({ model: { preset: 'odd' }, recipe: { preset: 'big' } });
    expect(found.map(({ sets, use }) => use ?? sets.length)).toEqual([
      1,
      'Far, for which this recipe was written',
      'the defaults of transformers in place of this recipe',
    ]);
    expect(found[1]!.config.model).toEqual({ preset: 'far' });
  });

  test('where no field helps, the model of nearest size does', async () => {
    const found = await ways({ model: { preset: 'odd' }, recipe: { data_parallel: 'fsdp' } });
    expect(found.map(({ use }) => use)).toEqual(['Near, a model of about that size']);
  });

  test('nothing that the engine refuses is offered', async () => {
    const refused = { ok: false, issues: [{ code: 'x', path: '/gpu', message: 'No.', hint: '' }] } as Answer;
    const never = { estimate: async () => refused, presets: { models, gpus: [], recipes, fields } };
    expect(await waysOn(never, { model: { preset: 'odd' }, recipe: { preset: 'big' } }, () => undefined)).toEqual([]);
  });
});
