// Where the events of a step stand in the timeline.
import { expect, test } from 'vitest';
import type { PhaseName, Result } from '../../../web/source/border.js';
import { drawingOf } from '../../../web/source/views/timeline_areas.js';

const points = (phase: PhaseName, count: number) => Array.from({ length: count }, () => ({ phase, allocated: 1 }));

test('an initialisation of many events leaves the step most of the width, and every phase has room for its name', () => {
  const timeline = [
    ...points('initialise', 400),
    ...points('forward', 60),
    ...points('backward', 60),
    ...points('optimizer_step', 1),
  ];
  const { edges } = drawingOf({ timeline } as unknown as Result);
  expect(edges).toHaveLength(5);
  expect(edges.at(-1)).toBeCloseTo(1000);
  const widths = edges.slice(1).map((edge, index) => edge - edges[index]!);
  expect(widths[0]).toBeLessThan(400);
  for (const width of widths) expect(width).toBeGreaterThan(120);
});
