// Colours hold what WCAG asks of them in both schemes: 4.5:1 for text, 3:1 for parts of charts and edges of controls.
import { describe, expect, test } from 'vitest';
import { componentNames } from '../../../web/source/components.js';
import { fills, tokens } from '../../../web/source/styles/tokens.js';
import { phaseFills } from '../../../web/source/views/timeline_areas.js';

const linear = (share: number) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);

/** WCAG 2.2, relative luminance. */
function luminance(hex: string): number {
  const channel = (at: number) => linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255);
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

/** Björn Ottosson's OKLab of linear red, green and blue: distances are those that eyes see. */
function oklab([red, green, blue]: number[]): number[] {
  const cone = (r: number, g: number, b: number) => Math.cbrt(r * red! + g * green! + b * blue!);
  const [l, m, s] = [
    cone(0.4122214708, 0.5363325363, 0.0514459929),
    cone(0.2119034982, 0.6806995451, 0.1073969566),
    cone(0.0883024619, 0.2817188376, 0.6299787005),
  ];
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** Machado, Oliveira and Fernandes 2009, severity 1. */
const visions: Record<string, number[][]> = {
  'with all cones': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  'in protanopia': [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  'in deuteranopia': [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  'in tritanopia': [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function seen(hex: string, vision: number[][]): number[] {
  const colour = [1, 3, 5].map(at => linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255));
  return oklab(
    vision.map(row =>
      Math.max(
        0,
        row.reduce((sum, part, at) => sum + part * colour[at]!, 0),
      ),
    ),
  );
}

const pair = (name: string): [light: string, dark: string] => {
  const found = new RegExp(`--${name}:[^;]*light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(tokens.cssText);
  if (!found) throw new Error(`no colours for ${name}`);
  return [found[1]!, found[2]!];
};

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('%s colours', (_, scheme) => {
  const grounds = ['background', 'surface'].map(name => pair(name)[scheme]);

  test.each(Object.keys(fills))('%s stands out from what lies behind it', name => {
    for (const ground of grounds) expect(contrast(fills[name]![scheme], ground)).toBeGreaterThanOrEqual(3);
  });

  test.each(Object.entries(phaseFills))('%s stands out from the ground of the timeline', (_, fill) => {
    for (const ground of [...grounds, pair('sunken')[scheme]])
      expect(contrast(fill[scheme], ground)).toBeGreaterThanOrEqual(3);
  });

  // Ten components are many: gaps, labels and the order of the legend tell them apart, too.
  test.each(Object.entries(visions))('phases and components keep apart %s', (_, vision) => {
    const least = (all: [string, string][]) => {
      const colours = all.map(fill => seen(fill[scheme], vision));
      return Math.min(
        ...colours.flatMap((one, index) =>
          colours.slice(index + 1).map(other => Math.hypot(...one.map((part, at) => part - other[at]!))),
        ),
      );
    };
    expect(least(Object.values(phaseFills))).toBeGreaterThan(0.11);
    expect(least(componentNames.map(name => fills[name]!))).toBeGreaterThan(0.045);
  });

  test.each(['ink', 'muted', 'accent', 'good', 'warn', 'bad'])('%s can be read as text', name => {
    for (const ground of [...grounds, pair('sunken')[scheme]])
      expect(contrast(pair(name)[scheme], ground)).toBeGreaterThanOrEqual(4.5);
  });

  test('edges of fields can be seen', () => {
    for (const ground of grounds) expect(contrast(pair('outline')[scheme], ground)).toBeGreaterThanOrEqual(3);
  });
});
