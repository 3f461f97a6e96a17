// The panel about speed: its words, its data, its numbers.

import type { RateBandwidth } from '@source/border.js';
import { duration, significant } from '@source/format.js';
import { gpuPoints, technologies } from '@source/speed/memory_data.js';
import { boundSentence } from '@source/speed/speed.js';
import { describe, expect, test } from 'vitest';

type Bound = RateBandwidth['phases'][number]['bound'];

function rate(forward: Bound, backward: Bound, optimizer: Bound): RateBandwidth {
  const time = { memory_seconds: 1, seconds: 1 };
  return {
    name: 'datasheet',
    gb_per_s: 3352,
    ridge_point: 295,
    step_seconds: 3,
    tokens_per_second: 1000,
    model_flops_utilization: 0.4,
    phases: [
      { phase: 'forward', bound: forward, ...time },
      { phase: 'backward', bound: backward, ...time },
      { phase: 'optimizer_step', bound: optimizer, ...time },
    ],
  };
}

describe('what binds the step', () => {
  test('phases are named by what binds them', () => {
    expect(boundSentence(rate('arithmetic', 'arithmetic', 'memory'))).toBe(
      'Forward and backward are bound by arithmetic, optimizer step by memory.',
    );
    expect(boundSentence(rate('memory', 'arithmetic', 'memory'))).toBe(
      'Backward is bound by arithmetic, forward and optimizer step by memory.',
    );
    expect(boundSentence(rate('memory', 'memory', 'memory'))).toBe(
      'Forward, backward and optimizer step are bound by memory.',
    );
  });

  test('what is not known is not said', () => {
    expect(boundSentence(rate('unknown', 'unknown', 'memory'))).toBe('Optimizer step is bound by memory.');
    expect(boundSentence(rate('unknown', 'unknown', 'unknown'))).toBe('');
  });
});

describe('numbers', () => {
  test('times carry the unit that fits them', () => {
    expect(duration(0.421)).toBe('421 ms');
    expect(duration(4.5)).toBe('4.50 s');
    expect(duration(0.000637)).toBe('637 \u00b5s');
    expect(duration(90)).toBe('1.50 min');
    expect(duration(7200)).toBe('2.00 h');
    expect(duration(0)).toBe('0 s');
  });

  test('digits that count, whole numbers in full', () => {
    expect(significant(11219, 4)).toBe('11,219');
    expect(significant(229.4)).toBe('229');
    expect(significant(46.87)).toBe('46.9');
    expect(significant(3351.6, 4)).toBe('3,352');
  });
});

describe('memory technologies', () => {
  test('GDDR5 to GDDR7 and HBM to HBM4 are there, with the bandwidths of their standards', () => {
    const byId = new Map(technologies.map(each => [each.id, each]));
    for (const id of ['gddr5', 'gddr5x', 'gddr6', 'gddr6x', 'gddr7', 'hbm2', 'hbm2e', 'hbm3', 'hbm3e', 'hbm4'])
      expect(byId.has(id), id).toBe(true);
    // 1,024 bits at 6.4 Gb/s; 2,048 bits at 8 Gb/s (JESD238, JESD270-4).
    expect(byId.get('hbm3')?.bandwidth[1]).toBe(819);
    expect(byId.get('hbm4')?.bandwidth[1]).toBe(2048);
    expect(byId.get('gddr6')?.capacity).toBe(2);
  });

  test('a GPU is a point if its bandwidth and size are known', () => {
    const points = gpuPoints([
      { id: 'h100-sxm', name: 'H100', memory_technology: 'hbm3', memory_bytes: 85899345920 },
      { id: 'no-such-gpu', name: 'none', memory_bytes: 1 },
    ]);
    expect(points).toEqual([{ id: 'h100-sxm', name: 'H100', technology: 'hbm3', bandwidth: 3352, capacity: 80 }]);
  });
});
