// Sweeps: which values, what they are called, where the chart ends, and what is said of it.

import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SweepPoint } from '@source/explore/answers.js';
import {
  axes,
  chartTop,
  label,
  type Sweep,
  said,
  shortSize,
  shortValue,
  stopsFitting,
  valuesOf,
} from '@source/explore/sweep_panel.js';
import { Sweeper } from '@source/explore/sweeper.js';
import { describe, expect, test } from 'vitest';

type Fit = 'fits' | 'tight' | 'does_not_fit';

function point(value: string, expected: number, fit: Fit): SweepPoint {
  const device = { low: expected, expected, high: expected };
  const verdict = { fit, capacity: 80, margin: 80 - expected, sentence: '' };
  return { value, ok: true, link: '', after: { device, verdict, allocated: expected } as never };
}
const refusal = (message?: string): SweepPoint => ({
  value: '9',
  ok: false,
  issues: message === undefined ? [] : [{ code: 'c', path: '/p', message, hint: '' }],
});
const refused = refusal();
const [sequence, batch, gpus, model] = axes as [(typeof axes)[0], (typeof axes)[0], (typeof axes)[0], (typeof axes)[0]];
const sweepOf = (axis: (typeof axes)[number], more: Partial<Sweep> = {}): Sweep => ({
  axis,
  present: '1',
  points: undefined,
  names: new Map([['llama2-7b', 'Llama 2 7B']]),
  sizes: new Map(),
  together: 1,
  ...more,
});

describe('axes', () => {
  test('vary four settings, each in its own unit', () => {
    expect(axes.map(({ id, path, title, unit }) => [id, path, title, unit])).toEqual([
      ['sequence', '/recipe/sequence_length', 'Sequence lengths', 'tokens'],
      ['batch', '/recipe/micro_batch_size', 'Micro-batch sizes', 'sequences'],
      ['gpus', '/recipe/data_parallel_size', 'Numbers of GPUs', 'GPUs'],
      ['model', '/model', 'Model sizes', 'parameters'],
    ]);
  });

  test('double from end to end', () => {
    const words = (text: string) => text.split(' ');
    expect(sequence.values).toEqual(words('4096 8192 16384 32768 65536 131072 262144 524288 1048576'));
    expect(sequence.small).toEqual(words('512 1024 2048 4096 8192 16384 32768 65536 131072'));
    expect(batch.values).toEqual(words('1 2 4 8 16 32 64 128 256'));
    expect(gpus.values).toEqual(words('1 2 4 8 16 32 64 128 256'));
    expect(gpus.large).toEqual(words('128 256 512 1024 2048 4096 8192 16384 32768'));
    expect([batch.small, batch.large, sequence.large, gpus.small]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('name models that there are', () => {
    const folder = fileURLToPath(new URL('../../../presets/models', import.meta.url));
    const known = new Set(readdirSync(folder).map(name => name.replace('.json', '')));
    expect(model.values).toHaveLength(9);
    for (const id of model.values) expect(known, id).toContain(id);
  });
});

describe('the values of an axis', () => {
  test('have the present one among them, in order', () => {
    expect(valuesOf(sequence, '4096', true)).toEqual([...sequence.values]);
    expect(valuesOf(sequence, '5000', true).slice(0, 3)).toEqual(['4096', '5000', '8192']);
    expect(valuesOf(sequence, '10000', true).slice(1, 4)).toEqual(['8192', '10000', '16384']);
    expect(valuesOf(sequence, 'x', true)).toEqual([...sequence.values]);
    expect(valuesOf(sequence, '5000x', true)).toEqual([...sequence.values]);
    expect(valuesOf(model, '7', true)).toEqual([...model.values]);
    expect(valuesOf(batch, '8', true)).not.toBe(batch.values);
  });

  test('go down from a length that does not fit, or is short', () => {
    expect(valuesOf(sequence, '4096', false)).toEqual([...sequence.small!]);
    expect(valuesOf(sequence, '4095', true)).toEqual([
      ...sequence.small!.slice(0, 3),
      '4095',
      ...sequence.small!.slice(3),
    ]);
    expect(valuesOf(sequence, '528', true).slice(0, 3)).toEqual(['512', '528', '1024']);
    expect(valuesOf(batch, '1', false)).toEqual([...batch.values]);
  });

  test('go up from many GPUs', () => {
    expect(valuesOf(gpus, '256', true)).toEqual([...gpus.values]);
    expect(valuesOf(gpus, '2048', true)).toEqual([...gpus.large!]);
    expect(valuesOf(gpus, '257', true).slice(0, 4)).toEqual(['128', '256', '257', '512']);
    expect(valuesOf(gpus, '2048', false)).toEqual([...gpus.large!]);
    expect(valuesOf(gpus, '8', false)).toEqual([...gpus.values]);
    expect(valuesOf(batch, '512', true)).toEqual([...batch.values, '512']);
  });

  test('are ten at most', () => {
    for (const axis of axes)
      for (const present of ['3', '600', '5000', '99999'])
        for (const fits of [true, false]) expect(valuesOf(axis, present, fits).length).toBeLessThanOrEqual(10);
  });
});

describe('words below a column', () => {
  test.each([
    ['512', '512'],
    ['1023', '1023'],
    ['1024', '1K'],
    ['1536', '1536'],
    ['4096', '4K'],
    ['5000', '5000'],
    ['1047552', '1023K'],
    ['1048576', '1M'],
    ['1572864', '1536K'],
    ['2097152', '2M'],
    ['2048.5', '2048.5'],
    ['1x', '1x'],
  ])('%s is %s', (value, words) => expect(shortValue(value)).toBe(words));

  test.each([
    ['Llama 3.1 / 3.3 70B', 70_553_706_496, '70B'],
    ['SmolLM2 1.7B', 1_711_376_384, '1.7B'],
    ['SmolLM2 135M', 134_515_008, '135M'],
    ['GPT-2 small', 124_439_808, '124M'],
    ['Model 7Bx', 1_500_000_000, '2B'],
    ['', 1_000_000_000, '1B'],
    ['', 999_000_000, '999M'],
  ])('%s of %d parameters is %s', (name, parameters, words) => expect(shortSize(name, parameters)).toBe(words));
});

describe('labels', () => {
  test('carry the unit, alone or as many', () => {
    expect(label(sweepOf(sequence), point('8192', 1, 'fits'))).toBe('8,192 tokens');
    expect(label(sweepOf(sequence), point('1', 1, 'fits'))).toBe('1 token');
    expect(label(sweepOf(batch), point('1', 1, 'fits'))).toBe('1 sequence');
    expect(label(sweepOf(batch), point('2', 1, 'fits'))).toBe('2 sequences');
    expect(label(sweepOf(gpus), point('1', 1, 'fits'))).toBe('1 GPU');
  });

  test('count every GPU, and nothing else, as often as a copy of the model takes it', () => {
    expect(label(sweepOf(gpus, { together: 8 }), point('2', 1, 'fits'))).toBe('16 GPUs');
    expect(label(sweepOf(gpus, { together: 8 }), point('1', 1, 'fits'))).toBe('8 GPUs');
    expect(label(sweepOf(batch, { together: 8 }), point('2', 1, 'fits'))).toBe('2 sequences');
  });

  test('are the names of models', () => {
    expect(label(sweepOf(model), point('llama2-7b', 1, 'fits'))).toBe('Llama 2 7B');
    expect(label(sweepOf(model), point('other', 1, 'fits'))).toBe('other');
  });
});

const fits = point('1', 10, 'fits');
const not = point('2', 90, 'does_not_fit');
const tight = point('4', 79, 'tight');

describe('where it stops fitting', () => {
  test('follows the last that fits', () => {
    expect(stopsFitting([fits, fits, not])).toBe(not);
    expect(stopsFitting([fits, refused, not])).toBe(not);
    expect(stopsFitting([fits, not, fits])).toBeUndefined();
    expect(stopsFitting([fits, fits])).toBeUndefined();
    expect(stopsFitting([not, not])).toBeUndefined();
    expect(stopsFitting([not])).toBeUndefined();
    expect(stopsFitting([refused, not])).toBeUndefined();
    expect(stopsFitting([fits, refused])).toBe(refused);
    expect(stopsFitting([fits, tight, not])).toBe(not);
    expect(stopsFitting([fits, tight])).toBeUndefined();
    expect(stopsFitting([])).toBeUndefined();
  });

  test('is said, and what is tight on the way', () => {
    const sweep = sweepOf(gpus, { together: 8 });
    expect(said(sweep, [not, tight, point('8', 40, 'fits')])).toBe('Tight at 32 GPUs. Fits from 32 GPUs on.');
    expect(said(sweep, [not, point('8', 40, 'fits')])).toBe('Fits from 64 GPUs on.');
    expect(said(sweep, [fits])).toBe('All of these fit.');
    expect(said(sweep, [fits, tight])).toBe('Tight at 32 GPUs. All of these fit.');
    expect(said(sweepOf(sequence), [tight, point('8', 79, 'tight'), not])).toBe(
      'Tight at 4 tokens, 8 tokens. Stops fitting at 2 tokens.',
    );
    expect(said(sweepOf(gpus), [fits, not])).toBe('Stops fitting at 2 GPUs.');
    expect(said(sweep, [not, not])).toBe('None of these fits.');
    expect(said(sweep, [])).toBe('None of these fits.');
  });

  test('is not said where there is no one place', () => {
    expect(said(sweepOf(gpus), [fits, not, fits])).toBe('');
    expect(said(sweepOf(gpus), [tight, not, fits])).toBe('Tight at 4 GPUs. ');
    expect(said(sweepOf(gpus), [not, fits, refused, fits])).toBe('');
  });

  test('says why, where nothing beyond can be computed', () => {
    expect(said(sweepOf(sequence), [fits, refusal('positions end at 8')])).toBe('9 tokens: positions end at 8');
    expect(said(sweepOf(sequence), [tight, refused])).toBe('Tight at 4 tokens. 9 tokens: this cannot be computed.');
  });
});

test('the chart cuts what is far beyond the capacity, and shows all of what is not', () => {
  expect(chartTop([fits, point('2', 8000, 'does_not_fit')], 80)).toBeCloseTo(1.04 * 160);
  expect(chartTop([fits, point('2', 60, 'fits')], 80)).toBeCloseTo(1.04 * 60);
  expect(chartTop([point('1', 200, 'does_not_fit'), point('2', 8000, 'does_not_fit')], 80)).toBeCloseTo(1.04 * 300);
  expect(chartTop([refused, point('1', 200, 'does_not_fit'), point('2', 8000, 'does_not_fit')], 80)).toBeCloseTo(312);
  expect(chartTop([fits], 0)).toBeCloseTo(1.04 * 10);
  expect(chartTop([point('1', 10, 'fits'), point('2', 100, 'fits')], 0)).toBeCloseTo(1.04 * 15);
  expect(chartTop([refused], 0)).toBeCloseTo(1.04);
});

describe('a sweeper', () => {
  const asking = () => {
    const asked: string[] = [];
    const waiting: ((answer: unknown) => void)[] = [];
    const asker = {
      ask: (...words: string[]) => {
        asked.push(words.join(' '));
        return new Promise(resolve => waiting.push(resolve));
      },
    } as never;
    return { asked, waiting, asker };
  };
  const later = () => new Promise(resolve => setTimeout(resolve));

  test('drops what was found for an older link', async () => {
    const { asked, waiting, asker } = asking();
    let changes = 0;
    const sweeper = new Sweeper('s', () => changes++);
    sweeper.show(asker, 'old', '/p', ['1', '2']);
    sweeper.show(asker, 'new', '/p', ['1', '2']);
    sweeper.show(asker, 'new', '/p', ['1', '2']);
    expect(asked).toEqual(['s sweep old /p 1,2', 's sweep new /p 1,2']);
    waiting[0]!({ ok: true, points: [refused] });
    waiting[1]!({ ok: true, points: [fits] });
    await later();
    expect(changes).toBe(1);
    expect(sweeper.points).toEqual([fits]);
  });

  test('asks for four at a time, and shows them all at once', async () => {
    const { asked, waiting, asker } = asking();
    const sweeper = new Sweeper('s', () => {});
    sweeper.show(asker, 'l', '/p', ['1', '2', '3', '4', '5']);
    expect(asked).toEqual(['s sweep l /p 1,2,3,4']);
    waiting[0]!({ ok: true, points: [fits, tight] });
    await later();
    expect(asked[1]).toBe('s sweep l /p 5');
    expect(sweeper.points).toBeUndefined();
    waiting[1]!({ ok: true, points: [not] });
    await later();
    expect(sweeper.points).toEqual([fits, tight, not]);
  });

  test('keeps what it found while the same axis is asked again, and only then', async () => {
    const { waiting, asker } = asking();
    const sweeper = new Sweeper('s', () => {});
    sweeper.show(asker, 'a', '/p', ['1']);
    waiting[0]!({ ok: true, points: [fits] });
    await later();
    sweeper.show(asker, 'b', '/p', ['1']);
    expect(sweeper.points).toEqual([fits]);
    sweeper.show(asker, 'b', '/other', ['1']);
    expect(sweeper.points).toBeUndefined();
  });

  test('asks again after it was told to forget, and stops where there is no answer', async () => {
    const { asked, waiting, asker } = asking();
    const sweeper = new Sweeper('s', () => {});
    sweeper.show(asker, 'a', '/p', ['1']);
    sweeper.forget();
    sweeper.show(asker, 'a', '/p', ['1', '2', '3', '4', '5']);
    expect(asked).toHaveLength(2);
    waiting[1]!(undefined);
    await later();
    expect(asked).toHaveLength(2);
    expect(sweeper.points).toBeUndefined();
  });
});
