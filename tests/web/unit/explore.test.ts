// Words, orders and edges of the explore part.
import type { Config, Engine, Summary } from '@source/border.js';
import type { SweepPoint } from '@source/explore/answers.js';
import { byMargin, runs } from '@source/explore/fits_panel.js';
import { fitWords, settingWords } from '@source/explore/go_and_say.js';
import { readGpus } from '@source/explore/gpus.js';
import { gpusToTry, withOthers } from '@source/explore/plan_panel.js';
import { stopOf } from '@source/views/slider.js';
import { expect, test } from 'vitest';

type Fit = 'fits' | 'tight' | 'does_not_fit';

function point(value: string, expected: number, capacity: number, fit: Fit): SweepPoint {
  const device = { low: expected, expected, high: expected };
  const verdict = { fit, capacity, margin: capacity - expected, sentence: '' };
  return { value, ok: true, link: '', after: { device, verdict, allocated: expected } as never };
}
const refused: SweepPoint = { value: '9', ok: false, issues: [] };

test('the GPU with the least to spare that still fits stands first', () => {
  const sorted = byMargin([
    point('large', 10, 90, 'fits'),
    point('far', 10, 4, 'does_not_fit'),
    point('near', 10, 9, 'does_not_fit'),
    point('small', 10, 12, 'fits'),
    point('edge', 10, 10, 'tight'),
    refused,
  ]);
  expect(sorted.map(({ value }) => value)).toEqual(['small', 'large', 'edge', 'near', 'far']);
});

test('what takes more than there is and fits all the same is not called tight alone', () => {
  const verdict = { capacity: 80, sentence: '' };
  expect(fitWords({ ...verdict, fit: 'tight', margin: -3 })).toBe('fits without cache');
  expect(fitWords({ ...verdict, fit: 'tight', margin: 3 })).toBe('tight');
  expect(fitWords({ ...verdict, fit: 'does_not_fit', margin: -3 })).toBe('does not fit');
});

test('what a change sets is said in the words of the fields', () => {
  const fields = [
    { path: '/recipe/attention', name: 'attention', type: 'enumeration' as const, options: ['eager', 'sdpa'] },
  ];
  const set = { path: '/recipe/attention', from: 'eager', to: 'sdpa' };
  expect(settingWords(fields, set)).toBe('Attention kernel eager → SDPA');
  expect(settingWords([], { path: '/recipe/lora/rank', from: 0, to: 16 })).toBe('rank 0 → 16');
  expect(settingWords([], { path: '/recipe/fused_norm', from: false, to: true })).toBe('fused_norm off → on');
});

test('a plan takes 1 to 65,536 GPUs, in any form of number', () => {
  expect(readGpus('2^12')).toMatchObject({ ok: true, value: 4096 });
  for (const text of ['0', '70000', '', 'many', '1.5']) expect(readGpus(text).ok).toBe(false);
});

const needing = (num_gpus: number, device: number) =>
  ({ num_gpus, device: { expected: device }, verdict: { capacity: 80 } }) as unknown as Summary;

test('a plan begins with the GPUs that there are; with more where there is one, or too few', () => {
  expect(gpusToTry(needing(512, 152), false)).toBe(512);
  expect(gpusToTry(needing(6, 30), false)).toBe(6);
  expect(gpusToTry(needing(1, 30), false)).toBe(8);
  expect(gpusToTry(needing(1, 1774), false)).toBe(32);
  expect(gpusToTry(needing(16, 200), true)).toBe(64);
});

test('a plan offers the frameworks that divide more, where they take the configuration', () => {
  const engine = {
    estimate: ({ recipe }: Config) => ({ ok: recipe?.framework !== 'megatron' || !recipe.lora }),
  } as Engine;
  const config = { model: { preset: 'a' }, recipe: { sequence_length: 512 } };
  const offered = (recipe: Config['recipe'], framework: string, gpus: number) =>
    withOthers(engine, { ...config, recipe: { ...config.recipe, ...recipe } }, framework, gpus).map(
      one => one.framework,
    );
  expect(offered({}, 'transformers', 64)).toEqual(['torchtitan', 'megatron']);
  expect(offered({ lora: { rank: 8 } }, 'deepspeed', 2)).toEqual(['torchtitan']);
  expect(offered({}, 'megatron', 64)).toEqual([]);
  expect(offered({}, 'torchtitan', 64)).toEqual([]);
  expect(offered({}, 'transformers', 1)).toEqual([]);
  expect(withOthers(engine, config, 'pytorch', 8)[0]?.config).toEqual({
    model: { preset: 'a' },
    recipe: { sequence_length: 512, framework: 'torchtitan' },
  });
});

test('GPUs that PyTorch does not run on, or not together, are not offered', () => {
  const made = (vendor: string) => ({ id: 'x', name: 'x', vendor });
  expect(['NVIDIA', 'AMD', 'Apple', 'Google'].map(made).map(runs(1))).toEqual([true, true, true, false]);
  expect(['NVIDIA', 'AMD', 'Apple', 'Google'].map(made).map(runs(2))).toEqual([true, true, false, false]);
});

test('a slider stands at the nearest power of two', () => {
  expect(stopOf(4096, [7, 20])).toBe(12);
  expect(stopOf(5000, [7, 20])).toBe(12);
  expect(stopOf(1, [7, 20])).toBe(7);
  expect(stopOf(0, [0, 8])).toBe(0);
  expect(stopOf(1e9, [0, 8])).toBe(8);
});
