// Round sizes beside a chart, to read heights by.

import { grouped, inShort, scales, type Units } from '../format.js';

/** Those below `top`, four at most. */
export function roundSizes(top: number, units: Units): { bytes: number; words: string }[] {
  const [size, name] = scales[inShort(units)].find(([step]) => top >= 2 * step) ?? [1, 'bytes'];
  const least = top / size / 5;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find(times => times * power >= least)! * power;
  return [1, 2, 3, 4]
    .map(times => ({ bytes: times * step * size, words: `${grouped(times * step)} ${name}` }))
    .filter(({ bytes }) => bytes < 0.9 * top);
}
