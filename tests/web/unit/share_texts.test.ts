import { describe, expect, test } from 'vitest';
import type { GoodAnswer } from '../../../web/source/border.js';
import { picture } from '../../../web/source/share/picture.js';
import {
  csv,
  description,
  embedElement,
  embedFrame,
  json,
  markdown,
  type Subject,
} from '../../../web/source/share/texts.js';

const gib = 2 ** 30;
const row = (name: string, bytes: number) => ({
  name,
  shape: '2x3',
  dtype: 'bf16',
  elements: 6,
  element_bytes: 2,
  copies: 1,
  bytes,
  component: 'weights',
  why: '',
  formula: '2 * 3',
  source: '',
  kind: 'exact',
});
const good = {
  ok: true,
  link: 'v=1&model=a&end',
  config: {},
  result: {
    allocated: 3 * gib,
    reserved: { low: 4 * gib, expected: 4 * gib, high: 4 * gib },
    device: { low: 5 * gib, expected: 5 * gib, high: 6 * gib },
    peak_phase: 'backward',
    components: { weights: 2 * gib, activations: gib },
    runtime: [{ name: 'CUDA context', bytes: { low: gib, expected: gib, high: gib } }],
    rows: [row('=HYPERLINK("x")', 2 * gib), row('plain, with comma', gib)],
    verdict: { fit: 'fits', capacity: 8 * gib, margin: 3 * gib, sentence: '' },
  },
} as unknown as GoodAnswer;
const subject: Subject = {
  name: 'A "quoted" <b>model</b>',
  sentence: 'A needs 5.0 GiB of 8.0 GiB. Fits.',
  address: 'https://host/trainmem/#v=1&model=a&end',
  script: 'https://host/trainmem/trainmem-calculator.js',
  frame: 'https://host/trainmem/embed.html',
  link: 'v=1&model=a&end',
  units: 'GiB',
  version: '1.2.3',
};

describe('Markdown', () => {
  test('names vLLM where it holds a part of the device', () => {
    expect(markdown(good, subject)).toContain('| Outside PyTorch | 1.0 GiB |');
    const [context] = good.result.runtime;
    const runtime = [{ ...context!, name: 'vLLM' }];
    const beside = { ...good, result: { ...good.result, runtime } };
    expect(markdown(beside, subject)).toContain('| vLLM and CUDA | 1.0 GiB |');
  });

  test('has a row for every part, and they sum to the device', () => {
    const rows = [...markdown(good, subject).matchAll(/^\| [A-Z][^|*]+ \| [\d.]+ GiB \| ([\d,]+) \| \d+ % \|$/gm)];
    const sum = rows.reduce((total, [, bytes]) => total + Number(bytes!.replaceAll(',', '')), 0);
    expect(markdown(good, subject)).toContain('| At the peak (backward) | Memory | Bytes | Share |');
    expect(rows.length).toBe(4); // weights, activations, cached, outside
    expect(sum).toBe(5 * gib);
    expect(markdown(good, subject)).toContain('[Computed by trainmem 1.2.3](https://host/trainmem/#v=1&model=a&end)');
  });
});

describe('Markdown, whole', () => {
  test('says what, how much, of what, and where it was computed', () => {
    const lines = markdown(good, subject).split('\n');
    expect(lines.slice(lines.findIndex(line => line.startsWith('| At the peak')))).toEqual([
      '| At the peak (backward) | Memory | Bytes | Share |',
      '| --- | ---: | ---: | ---: |',
      '| Weights | 2.0 GiB | 2,147,483,648 | 40 % |',
      '| Activations | 1.0 GiB | 1,073,741,824 | 20 % |',
      '| Outside PyTorch | 1.0 GiB | 1,073,741,824 | 20 % |',
      '| Cached by PyTorch | 1.0 GiB | 1,073,741,824 | 20 % |',
      '| **On the device** | **5.0 GiB** | 5,368,709,120 | |',
      '| of it reserved by PyTorch | 4.0 GiB | 4,294,967,296 | |',
      '| of it allocated | 3.0 GiB | 3,221,225,472 | |',
      '',
      '[Computed by trainmem 1.2.3](https://host/trainmem/#v=1&model=a&end)',
      '',
    ]);
  });
});

describe('JSON', () => {
  test('holds link, configuration and result, and ends with a line', () => {
    const text = json(good);
    expect(JSON.parse(text)).toEqual({ link: good.link, config: good.config, result: good.result });
    expect(text.endsWith('}\n')).toBe(true);
  });
});

describe('a description of the picture', () => {
  test('says the sentence, every part, and the exact bytes', () => {
    expect(description(good, subject)).toBe(
      'A needs 5.0 GiB of 8.0 GiB. Fits. Weights 2.0 GiB, Activations 1.0 GiB, Outside PyTorch 1.0 GiB, ' +
        'Cached by PyTorch 1.0 GiB. Exactly 5,368,709,120 bytes expected on the device.',
    );
  });
});

describe('CSV', () => {
  test('leaves numbers and signs inside of words as they are', () => {
    const [first] = good.result.rows;
    const rows = [{ ...first!, name: 'a-b', bytes: -1 }];
    const [, line] = csv({ ...good, result: { ...good.result, rows } }).split('\r\n');
    expect(line).toContain('weights,a-b,2x3');
    expect(line).toContain(',-1,exact');
  });

  test('quotes what needs it, and starts no formula in a spreadsheet', () => {
    const lines = csv(good).split('\r\n');
    expect(lines[0]).toBe('component,name,shape,dtype,elements,element_bytes,copies,bytes,kind,formula');
    expect(lines[1]).toBe(`weights,"'=HYPERLINK(""x"")",2x3,bf16,6,2,1,${2 * gib},exact,2 * 3`);
    expect(lines[2]).toContain('"plain, with comma"');
    expect(lines[3]).toBe('');
  });
});

describe('embedding lines', () => {
  test('escape what stands in attributes', () => {
    const element = embedElement(subject);
    expect(element).toContain('config="v=1&amp;model=a&amp;end"');
    expect(element).not.toContain('<b>');
    expect(embedFrame(subject)).toContain('title="GPU memory of A &quot;quoted&quot; &lt;b>model&lt;/b>"');
  });
});

test('embedding lines show what was chosen, in a frame of a height for it', () => {
  const views = (text: string) => /view="?(\w+)/.exec(text)?.[1];
  expect(views(embedElement(subject))).toBe('compact');
  expect(views(embedElement(subject, 'bar'))).toBe('bar');
  expect(views(embedFrame(subject))).toBe('bar');
  expect(embedFrame(subject)).toContain('height:420px');
  expect(views(embedFrame(subject, 'full'))).toBe('full');
  expect(embedFrame(subject, 'full')).toContain('height:1600px');
  expect(embedFrame(subject, 'compact')).toContain('height:900px');
});

describe('picture', () => {
  const options = { title: '<script>&', subtitle: '', foot: '', units: 'GiB' as const, width: 1000, height: 500 };
  test('is well-formed, draws every part to scale, and takes text as text', () => {
    const svg = picture({ ...options, result: good.result, dark: false });
    expect(svg).not.toContain('<script>');
    expect(svg).toContain('&#60;script&#62;&#38;');
    const inner = 1000 - 2 * 53;
    const widths = [...svg.matchAll(/<rect x="[\d.]+" y="180" width="([\d.]+)" height="65"/g)].map(([, w]) =>
      Number(w),
    );
    expect(widths.length).toBe(5); // the capacity and four parts
    expect(widths[0]).toBeCloseTo(inner, 0);
    expect(widths[1]! + 2).toBeCloseTo((2 / 8) * inner, 0);
  });
  test('has colours of its own in the dark', () => {
    const [light, dark] = [false, true].map(dark => picture({ ...options, result: good.result, dark }));
    expect(light).not.toBe(dark);
  });
});
