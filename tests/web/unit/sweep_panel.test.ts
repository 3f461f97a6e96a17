// The panel of a sweep as it is drawn: columns to scale, the place where it stops fitting, the table, and what a click does.

import type { Config } from '@source/border.js';
import { componentNames } from '@source/components.js';
import type { SweepPoint } from '@source/explore/answers.js';
import { axes, type Sweep, sweepPanel } from '@source/explore/sweep_panel.js';
import { describe, expect, test } from 'vitest';
import { attributes, drawn, handlers } from './drawn.js';

const gib = 2 ** 30;
const none = Object.fromEntries(componentNames.map(name => [name, 0]));

/** Sizes in GiB; what is not allocated lies outside. */
function point(value: string, device: number, parts: Record<string, number>, fit: string, capacity = 80): SweepPoint {
  const components = Object.fromEntries(Object.entries(parts).map(([name, size]) => [name, size * gib]));
  const allocated = Object.values(components).reduce((sum, size) => sum + size, 0);
  const verdict = { fit, capacity: capacity * gib, margin: (capacity - device) * gib, sentence: '' };
  const after = {
    device: { expected: device * gib },
    verdict,
    allocated,
    components: { ...none, ...components },
    parameters: 3e9,
  };
  return { value, ok: true, link: '', after: after as never };
}
const refused = (message?: string): SweepPoint => ({
  value: '16384',
  ok: false,
  issues: message === undefined ? [] : [{ code: 'c', path: '/p', message, hint: '' }],
});

interface Setup {
  axis?: number;
  present?: string;
  points?: SweepPoint[] | undefined;
  capacity?: number;
  readonly?: boolean;
  open?: boolean;
  sizes?: [string, number][];
}

function panel({
  axis = 0,
  present = '4096',
  points,
  capacity = 80,
  readonly = false,
  open = true,
  sizes = [],
}: Setup) {
  const applied: { config: Config; words: string }[] = [];
  const chosen: string[] = [];
  const explorer = {
    units: 'GiB',
    readonly,
    open: new Set(open ? ['sweeps'] : []),
    good: { result: { verdict: { capacity: capacity * gib } } },
    toggle: () => {},
    apply: (config: Config, words: string) => applied.push({ config, words }),
  } as never;
  const sweep: Sweep = {
    axis: axes[axis]!,
    present,
    points,
    names: new Map([
      ['a', 'Alpha 3B'],
      ['b', 'Beta'],
    ]),
    sizes: new Map(sizes),
    together: 1,
  };
  const config = { model: { preset: 'a' }, recipe: { precision: 'bf16' } };
  const template = sweepPanel(explorer, config, sweep, one => chosen.push(one.id));
  return {
    html: drawn(template),
    clicks: handlers(template, '@click'),
    changes: handlers(template, '@change'),
    applied,
    chosen,
  };
}

const three = [
  point('4096', 40, { weights: 20, activations: 10 }, 'fits'),
  point('8192', 79, { weights: 20, activations: 49 }, 'tight'),
  point('16384', 100, { weights: 20, activations: 70 }, 'does_not_fit'),
];

describe('columns', () => {
  test('say what they are, and which one stands in the fields', async () => {
    const html = await panel({ points: three }).html;
    expect(attributes(html, 'aria-label').slice(1)).toEqual([
      'Sequence lengths',
      '4,096 tokens: 40.0 GiB, fits, as it is now',
      '8,192 tokens: 79.0 GiB, tight. Go there',
      '16,384 tokens: 100.0 GiB, does not fit. Go there',
      'Sequence lengths, as a table',
    ]);
    expect(attributes(html, 'title')).toEqual([
      '4,096 tokens: 40.0 GiB, fits',
      '8,192 tokens: 79.0 GiB, tight',
      '16,384 tokens: 100.0 GiB, does not fit',
    ]);
    expect(html.match(/<li class="[^"]*"/g)).toEqual([
      '<li class="present"',
      '<li class=""',
      '<li class="stop"',
      '<li class=""',
    ]);
    expect(attributes(html, 'aria-current')).toEqual(['true']);
    expect(html.match(/<span class="tick">[^<]*/g)?.map(tick => tick.split('>')[1])).toEqual(['4K', '8K', '16K']);
  });

  test('stack the components and what lies outside, to scale', async () => {
    // The highest column is 100 GiB, and the chart ends 4 % above it.
    const html = await panel({ points: three }).html;
    const slabs = [...html.matchAll(/class="slab" data-part="(\w+)" style="block-size:([\d.]+)%"/g)];
    expect(slabs.map(([, part, size]) => [part, Number(size)])).toEqual(
      [
        ['weights', 20],
        ['activations', 10],
        ['outside', 10],
        ['weights', 20],
        ['activations', 49],
        ['outside', 10],
        ['weights', 20],
        ['activations', 70],
        ['outside', 10],
      ].map(([part, size]) => [part, Number((Number(size) / 1.04).toFixed(3))]),
    );
    expect(html).not.toContain('class="cut"');
  });

  test('that are cut off say their size', async () => {
    const points = [
      three[0]!,
      point('8192', 4000, { weights: 20 }, 'does_not_fit'),
      point('9', 312.5, {}, 'does_not_fit'),
    ];
    const html = await panel({ points }).html;
    expect(html.match(/<span class="cut">[^<]*/g)).toEqual([
      '<span class="cut">4,000 GiB',
      '<span class="cut">312 GiB',
    ]);
  });

  test('that cannot be computed say why, and lead nowhere', async () => {
    const { html, clicks } = panel({ points: [three[0]!, refused('positions end at 8,192')] });
    expect(await html).toContain(
      '<button type="button" class="column-button" aria-label="16,384 tokens: positions end at 8,192" title="positions end at 8,192" aria-disabled="true"><span class="stack none"></span><span class="tick">16K</span>',
    );
    expect(clicks).toHaveLength(2); // the heading's and the first column's
    expect(await panel({ points: [refused()] }).html).toContain('16,384 tokens: It cannot be computed.');
  });

  test('of models carry sizes: from the name, the answer, or the list', async () => {
    const points = [
      point('a', 1, {}, 'fits'),
      point('b', 1, {}, 'fits'),
      { ...refused('x'), value: 'c' },
      { ...refused('x'), value: 'd' },
    ];
    const html = await panel({ axis: 3, present: 'b', points, sizes: [['c', 7e9]] }).html;
    expect(html.match(/<span class="tick">[^<]*/g)?.map(tick => tick.split('>')[1])).toEqual(['3B', '3B', '7B', '–']);
    expect(attributes(html, 'aria-label')).toContain('Beta: 1.0 GiB, fits, as it is now');
  });
});

describe('the capacity', () => {
  const lineOf = (html: string) =>
    /<div class="line".*?style="inset-block-end:(.*?)"><span>(.*?)<\/span>/.exec(html)?.slice(1);

  test('stands where its bytes are, above the ticks', async () => {
    const html = await panel({ points: three }).html;
    // The line and the mark are said in words below.
    expect(attributes(html, 'aria-hidden')).toEqual(['true', 'true']);
    expect(lineOf(html)).toEqual([`calc(26px + (100% - 26px) * ${(80 / 104).toFixed(4)})`, '80.0 GiB usable']);
  });

  test('is left out where it is not known, or above the chart', async () => {
    expect(lineOf(await panel({ points: three, capacity: 0 }).html)).toBeUndefined();
    expect(lineOf(await panel({ points: three.slice(0, 1), capacity: 80 }).html)).toBeUndefined();
    expect(lineOf(await panel({ points: three.slice(0, 1), capacity: 41.6 }).html)).toBeUndefined();
    expect(lineOf(await panel({ points: three.slice(0, 1), capacity: 41.5 }).html)).toBeDefined();
  });

  test('has a mark where it is passed, before the column that passes it; a gap is no such place', async () => {
    const order = async (points: SweepPoint[]) =>
      (await panel({ points }).html).match(/<li(?: class="[^"]*")?/g)?.map(li => /stop/.test(li));
    const [fits, , not] = three as [SweepPoint, SweepPoint, SweepPoint];
    expect(await order([fits, not, { ...not }])).toEqual([false, true, false, false]);
    expect(await order([fits, refused('x'), not])).toEqual([false, false, true, false]);
    expect(await order([fits, refused('x')])).toEqual([false, false]);
    expect(await order([fits, fits])).toEqual([false, false]);
    expect(await order([not, fits])).toEqual([false, false]);
  });
});

describe('a click', () => {
  test('goes to the column’s value', async () => {
    const { clicks, applied } = panel({ points: three });
    const [, , second] = clicks;
    second!();
    expect(applied).toEqual([
      {
        config: { model: { preset: 'a' }, recipe: { precision: 'bf16', sequence_length: 8192 } },
        words: '8,192 tokens',
      },
    ]);
  });

  test('on the present one, or where nothing may be changed, does nothing', () => {
    const { clicks, applied } = panel({ points: three });
    clicks[1]!();
    expect(applied).toEqual([]);
    const fixed = panel({ points: three, readonly: true });
    for (const click of fixed.clicks.slice(1)) click();
    expect(fixed.applied).toEqual([]);
  });

  test('takes another model, and the rest stays', () => {
    const { clicks, applied } = panel({
      axis: 3,
      present: 'a',
      points: [point('a', 1, {}, 'fits'), point('b', 1, {}, 'fits')],
    });
    clicks[2]!();
    expect(applied).toEqual([{ config: { model: { preset: 'b' }, recipe: { precision: 'bf16' } }, words: 'Beta' }]);
  });

  test('on an axis chooses it', async () => {
    const { html, changes, chosen } = panel({ axis: 2, present: '1', points: three });
    for (const change of changes) change();
    expect(chosen).toEqual(['sequence', 'batch', 'gpus', 'model']);
    const inputs = (await html).match(/<input[^>]*>/g)!;
    expect(inputs.map(input => /\bchecked(?!="false")/.test(input))).toEqual([false, false, true, false]);
    expect(inputs.map(input => /value="(\w+)"/.exec(input)?.[1])).toEqual(chosen);
    expect((await html).match(/\/?><span>[^<]*<\/span><\/label>/g)).toHaveLength(4);
  });
});

describe('as a table', () => {
  const rowsOf = (html: string) =>
    [...html.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) =>
      [...row!.matchAll(/<t[hd]([^>]*)>(.*?)<\/t[hd]>/g)].map(([, , text]) => text!.replace(/<[^>]*>/g, '')),
    );

  test('it has the components that occur, and every figure with its unit', async () => {
    const html = await panel({ points: [...three, { ...refused('positions end'), value: '32768' }] }).html;
    expect(rowsOf(html)).toEqual([
      ['Sequence lengths', 'Device', 'Weights', 'Activations', 'Verdict'],
      ['4,096 tokens', '40.0 GiB', '20.0 GiB', '10.0 GiB', 'fits'],
      ['8,192 tokens', '79.0 GiB', '20.0 GiB', '49.0 GiB', 'tight'],
      ['16,384 tokens', '100.0 GiB', '20.0 GiB', '70.0 GiB', 'does not fit'],
      ['32,768 tokens', 'positions end'],
    ]);
    expect(attributes(html, 'tabindex')).toEqual(['0']);
    expect(attributes(html, 'colspan')).toEqual(['4']);
    expect(attributes(html, 'scope')).toEqual([...Array(5).fill('col'), ...Array(4).fill('row')]);
  });
});

describe('the panel', () => {
  test('says that it computes, and where it stops fitting', async () => {
    const waiting = await panel({}).html;
    expect(waiting).toContain('<div class="sweep" aria-busy="true"><p class="muted">Computing …</p></div>');
    expect(waiting).toContain('<p class="muted said" role="status"></p>');
    expect(waiting).not.toMatch(/<table|<ol|class="line"/);
    expect(/<section[^>]*aria-busy="(\w+)"/.exec(waiting)?.[1]).toBe('true');
    const html = await panel({ points: three }).html;
    expect(html).toContain(
      '<p class="muted said" role="status">Tight at 8,192 tokens. Stops fitting at 16,384 tokens.</p>',
    );
    expect(html).toContain('<div class="sweep" aria-busy="false"><ol');
    expect(/<section[^>]*aria-busy="(\w+)"/.exec(html)?.[1]).toBe('false');
    expect(html).not.toContain('Computing');
  });

  test('has a name, and one line for what it holds while it is closed', async () => {
    expect(await panel({ points: three }).html).toContain('aria-label="Sweep one setting"');
    const closed = await panel({ points: three, open: false }).html;
    expect(closed).toContain('sequence length, micro-batch, GPUs, model size');
    expect(closed).not.toContain('column-button');
  });
});
