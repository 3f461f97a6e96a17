// Words, orders and edges of the explore part.
import type { Summary } from '@source/border.js';
import type { SweepPoint } from '@source/explore/answers.js';
import { byMargin, runs } from '@source/explore/fits_panel.js';
import { fitWords, settingWords } from '@source/explore/go_and_say.js';
import { readGpus } from '@source/explore/gpus.js';
import { gpusToTry } from '@source/explore/plan_panel.js';
import { axes, chartTop, said, shortSize, shortValue, stopsFitting, valuesOf } from '@source/explore/sweep_panel.js';
import { Sweeper } from '@source/explore/sweeper.js';
import { stopOf } from '@source/views/slider.js';
import { describe, expect, test } from 'vitest';

type Fit = 'fits' | 'tight' | 'does_not_fit';

function point(value: string, expected: number, capacity: number, fit: Fit): SweepPoint {
  const device = { low: expected, expected, high: expected };
  const verdict = { fit, capacity, margin: capacity - expected, sentence: '' };
  return { value, ok: true, link: '', after: { device, verdict, allocated: expected } as never };
}
const refused: SweepPoint = { value: '9', ok: false, issues: [] };

describe('sweeps', () => {
  test('say where it stops fitting, if it does', () => {
    const fits = point('1', 10, 80, 'fits');
    const not = point('2', 90, 80, 'does_not_fit');
    expect(stopsFitting([fits, fits, not])).toBe(not);
    expect(stopsFitting([fits, refused, not])).toBe(not);
    expect(stopsFitting([fits, not, fits])).toBeUndefined();
    expect(stopsFitting([fits, fits])).toBeUndefined();
    expect(stopsFitting([not, not])).toBeUndefined();
    expect(stopsFitting([fits, refused])).toBe(refused);
    const tight = point('3', 79, 80, 'tight');
    expect(stopsFitting([fits, tight, not])).toBe(not);
    expect(stopsFitting([fits, tight])).toBeUndefined();
  });

  test('call models by the size in their names', () => {
    expect(shortSize('Llama 3.1 / 3.3 70B', 70_553_706_496)).toBe('70B');
    expect(shortSize('SmolLM2 1.7B', 1_711_376_384)).toBe('1.7B');
    expect(shortSize('GPT-2 small', 124_439_808)).toBe('124M');
  });

  test('cut what is far beyond the capacity, and show all of what is not', () => {
    expect(chartTop([point('1', 10, 80, 'fits'), point('2', 8000, 80, 'does_not_fit')], 80)).toBeCloseTo(166.4);
    expect(chartTop([point('1', 10, 80, 'fits'), point('2', 60, 80, 'fits')], 80)).toBeCloseTo(62.4);
    expect(chartTop([refused], 0)).toBeGreaterThan(0);
  });

  test('have the present value among theirs, in order', () => {
    const [sequence] = axes;
    expect(valuesOf(sequence!, '4096', true)).toEqual([...sequence!.values]);
    expect(valuesOf(sequence!, '5000', true).slice(0, 3)).toEqual(['4096', '5000', '8192']);
    expect(valuesOf(sequence!, 'x', true)).toEqual([...sequence!.values]);
  });

  test('go down from a length that does not fit, or is short', () => {
    const [sequence, batch] = axes;
    expect(valuesOf(sequence!, '4096', false)).toEqual([...sequence!.small!]);
    expect(valuesOf(sequence!, '528', true).slice(0, 3)).toEqual(['512', '528', '1024']);
    expect(valuesOf(batch!, '1', false)).toEqual([...batch!.values]);
  });

  test('go up from many GPUs, and have ten columns at most', () => {
    const gpus = axes.find(({ id }) => id === 'gpus')!;
    expect(valuesOf(gpus, '2048', true)).toEqual([...gpus.large!]);
    expect(valuesOf(gpus, '8', false)).toEqual([...gpus.values]);
    for (const axis of axes)
      for (const present of ['3', '600', '5000', '99999'])
        for (const fits of [true, false]) expect(valuesOf(axis, present, fits).length).toBeLessThanOrEqual(10);
  });

  test('count all GPUs, and say from where on it fits', () => {
    const gpus = axes.find(({ id }) => id === 'gpus')!;
    const sweep = { axis: gpus, present: '1', points: undefined, names: new Map(), sizes: new Map(), together: 8 };
    const not = point('1', 90, 80, 'does_not_fit');
    const [tight, fits] = [point('2', 79, 80, 'tight'), point('4', 40, 80, 'fits')];
    expect(said(sweep, [not, tight, fits])).toBe('Tight at 16 GPUs. Fits from 16 GPUs on.');
    expect(said(sweep, [fits])).toBe('All of these fit.');
    expect(said({ ...sweep, together: 1 }, [fits, not])).toBe('Stops fitting at 1 GPU.');
  });

  test('shorten powers of two', () => {
    expect(['4096', '1048576', '512', '5000', '1536'].map(shortValue)).toEqual(['4K', '1M', '512', '5000', '1536']);
  });

  test('drop what was found for an older link', async () => {
    const asked: string[] = [];
    const waiting: ((answer: unknown) => void)[] = [];
    const asker = {
      ask: (_slot: string, _name: string, link: string, _path: string, values: string) => {
        asked.push(`${link} ${values}`);
        return new Promise(resolve => waiting.push(resolve));
      },
    } as never;
    let changes = 0;
    const sweeper = new Sweeper('s', () => changes++);
    sweeper.show(asker, 'old', '/p', ['1', '2']);
    sweeper.show(asker, 'new', '/p', ['1', '2']);
    sweeper.show(asker, 'new', '/p', ['1', '2']);
    expect(asked).toEqual(['old 1,2', 'new 1,2']);
    waiting[0]!({ ok: true, points: [refused] });
    waiting[1]!({ ok: true, points: [point('1', 1, 2, 'fits')] });
    await new Promise(resolve => setTimeout(resolve));
    expect(changes).toBe(1);
    expect(sweeper.points?.[0]?.ok).toBe(true);
  });
});

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
