// Colours hold what WCAG asks of them in both schemes: 4.5:1 for text, 3:1 for parts of charts and edges of controls.
import { describe, expect, test } from 'vitest';
import { fills, tokens } from '../../../web/source/styles/tokens.js';

/** WCAG 2.2, relative luminance. */
function luminance(hex: string): number {
  const channel = (at: number) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
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

  test.each(['ink', 'muted', 'accent', 'good', 'warn', 'bad'])('%s can be read as text', name => {
    for (const ground of [...grounds, pair('sunken')[scheme]])
      expect(contrast(pair(name)[scheme], ground)).toBeGreaterThanOrEqual(4.5);
  });

  test('edges of fields can be seen', () => {
    for (const ground of grounds) expect(contrast(pair('outline')[scheme], ground)).toBeGreaterThanOrEqual(3);
  });
});
