// The number fields' grammar, held against what a person means by each text.

import { formatNumber, type NumberRules, parseNumber } from '@source/number_grammar.js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const value = (text: string, rules?: NumberRules) => {
  const parsed = parseNumber(text, rules);
  return parsed.ok ? parsed.value : parsed.message;
};

describe('a number field understands', () => {
  test.each([
    ['0', 0],
    ['4096', 4096],
    ['4,096', 4096],
    ['1 048 576', 1048576],
    ['1_000', 1000],
    ["12'345'678", 12345678],
    ['1e9', 1e9],
    ['2.5e-4', 0.00025],
    ['.5', 0.5],
    ['175B', 175e9],
    ['6.7 b', 6.7e9],
    ['8k', 8000],
    ['1.5M', 1.5e6],
    ['2T', 2e12],
    ['4Ki', 4096],
    ['2 Gi', 2147483648],
    ['2^12', 4096],
    ['2**12', 4096],
    ['2^3^2', 512],
    ['8*1024', 8192],
    ['8 × 1024', 8192],
    ['4096/2', 2048],
    ['(3+1)*2', 8],
    ['10 - 2 - 3', 5],
    ['-5', -5],
    ['2^-1', 0.5],
    ['  12  ', 12],
  ])('%s', (text, expected) => {
    expect(value(text)).toBe(expected);
  });

  test('k and M as binary where the field counts tokens', () => {
    expect(value('4k', { unit: 'tokens' })).toBe(4096);
    expect(value('４ｋ', { unit: 'tokens' })).toBe(4096);
    expect(value('（１＋２）＊８')).toBe(24);
    expect(value('2²')).toMatch(/not understood/);
    expect(value('4,096 tokens', { unit: 'tokens' })).toBe(4096);
    expect(value('8 gpus', { unit: 'GPUs' })).toBe(8);
    expect(value('128K', { unit: 'tokens' })).toBe(131072);
    expect(value('1M', { unit: 'tokens' })).toBe(1048576);
  });

  test('GB and GiB where the field counts bytes', () => {
    expect(value('80GB', { unit: 'bytes' })).toBe(80e9);
    expect(value('80 GiB', { unit: 'bytes' })).toBe(85899345920);
    expect(value('24G', { unit: 'bytes' })).toBe(24e9);
    expect(value('512', { unit: 'bytes' })).toBe(512);
  });
});

describe('a number field refuses, with the reason', () => {
  test.each([
    ['', 'A number is missing.'],
    ['   ', 'A number is missing.'],
    ['abc', '"abc" is not a number.'],
    ['12q', '"q" is not a suffix: k, M, B, T, Ki, Mi and Gi are.'],
    ['4k5', '"5" is not understood.'],
    ['(1+2', 'A closing bracket is missing.'],
    ['1+', 'A number is missing.'],
    ['1,5', '",5" is not understood.'],
    ['1e400', 'This is not a finite number.'],
    ['1/0', 'This is not a finite number.'],
    ['10^400', 'This is not a finite number.'],
    ['1'.repeat(65), 'This is too long for a number.'],
    ['Infinity', '"Infinity" is not a number.'],
    ['0x10', '"x" is not a suffix: k, M, B, T, Ki, Mi and Gi are.'],
  ])('%s', (text, message) => {
    expect(value(text)).toBe(message);
  });

  test('fractions and sizes that the field does not hold', () => {
    expect(value('7/2', { integer: true })).toBe('This must be a whole number: 3 and 4 are near.');
    expect(value('0', { minimum: 1 })).toBe('The smallest value is 1.');
    expect(value('70000', { maximum: 65536 })).toBe('The largest value is 65,536.');
    expect(value('2^60', { integer: true })).toBe('This is too large.');
  });
});

describe('where GiB or GB stand beside the field', () => {
  const bytes = { integer: true, minimum: 0, maximum: 2 ** 50, unit: 'bytes' };

  test.each([
    ['80', 'GiB', 80 * 2 ** 30],
    ['80', 'GB', 80e9],
    ['80', 'bytes', 80],
    ['2*40', 'GiB', 80 * 2 ** 30],
    ['79.65', 'GiB', Math.round(79.65 * 2 ** 30)],
    ['80GB', 'GiB', 80e9],
    ['80 GiB', 'GB', 80 * 2 ** 30],
    ['85,899,345,920 B', 'GiB', 85899345920],
    ['2e6', 'GiB', 'The largest value is 1,048,576 GiB.'],
    ['1.5', 'bytes', 'This must be a whole number: 1 and 2 are near.'],
  ] as const)('%s in %s', (text, shown, meant) => {
    expect(value(text, { ...bytes, shown })).toBe(meant);
  });

  test('what is shown reads back to within five digits', () => {
    expect(formatNumber(85899345920, 'GiB')).toBe('80');
    expect(formatNumber(85520809984, 'GiB')).toBe('79.64746');
    expect(formatNumber(85520809984, 'GB')).toBe('85.52081');
    expect(formatNumber(85520809984, 'bytes')).toBe('85,520,809,984');
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 50 }),
        fc.constantFrom('GiB' as const, 'GB' as const),
        (size, shown) => {
          expect(Math.abs(Number(value(formatNumber(size, shown), { ...bytes, shown })) - size)).toBeLessThan(5500);
        },
      ),
    );
  });
});

describe('for every text and number', () => {
  test('what a field shows reads back as the same value', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }), number => {
        const same = Object.is(number, -0) ? 0 : number;
        expect(value(formatNumber(same))).toBe(same);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.maxSafeInteger(), number => {
        expect(value(formatNumber(number))).toBe(number);
      }),
    );
  });

  test('parsing never throws, and gives finite numbers inside the bounds or a sentence', () => {
    const characters = fc.constantFrom(...'0123456789.,eE+-*/^() kKmMbBgGiT_\'×"<\u00a0');
    const texts = fc.oneof(
      fc.string({ maxLength: 80 }),
      fc.array(characters, { maxLength: 70 }).map(list => list.join('')),
    );
    fc.assert(
      fc.property(texts, text => {
        const parsed = parseNumber(text, { integer: true, minimum: 0, maximum: 1e6 });
        if (parsed.ok) {
          expect(Number.isInteger(parsed.value) && parsed.value >= 0 && parsed.value <= 1e6).toBe(true);
          expect(Object.is(parsed.value, -0)).toBe(false);
        } else expect(parsed.message).toMatch(/\.$/);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('the ends of a range', () => {
  test.each([
    ['1', { minimum: 1 }, 1],
    ['2', { minimum: 1 }, 2],
    ['0', { minimum: 1 }, 'The smallest value is 1.'],
    ['64', { maximum: 64 }, 64],
    ['-3', { maximum: 64 }, -3],
    ['65', { maximum: 64 }, 'The largest value is 64.'],
    ['4k', { minimum: 1, maximum: 4096, unit: 'tokens' }, 4096],
  ])('%s within %o', (text, rules, expected) => {
    expect(value(text, rules)).toBe(expected);
  });

  test('a text of 64 characters is read, a longer one is not', () => {
    expect(value(`${'0'.repeat(63)}7`)).toBe(7);
    expect(value(`${'0'.repeat(64)}7`)).toBe('This is too long for a number.');
    expect(value('   ')).toBe('A number is missing.');
  });

  test('a whole number names its neighbours while they can be told apart', () => {
    expect(value('1.5', { integer: true })).toBe('This must be a whole number: 1 and 2 are near.');
    expect(value('1e15 + .5', { integer: true })).toBe('This must be a whole number.');
  });
});

describe('signs and suffixes', () => {
  test.each([
    ['\u22125', {}, -5],
    ['7 \u2212 2', {}, 5],
    ['2*3**2', {}, 18],
    ['5b', { unit: 'bytes' }, 5],
    ['5bb', { unit: 'bytes' }, '"bb" is not a suffix: k, M, B, T, Ki, Mi and Gi are.'],
    ['5 KB', { unit: 'bytes' }, 5000],
    ['5 KiB', { unit: 'bytes' }, 5120],
    ['2g', { unit: 'tokens' }, 2e9],
    ['2m', { unit: 'tokens' }, 2 * 2 ** 20],
    ['1,0000', {}, '",0000" is not understood.'],
    ['(2)k', {}, '"k" is not understood.'],
  ])('%s with %o', (text, rules, expected) => {
    expect(value(text, rules)).toBe(expected);
  });

  test('a field shows nothing where there is no number', () => {
    expect(formatNumber(Number.POSITIVE_INFINITY)).toBe('');
    expect(formatNumber(Number.NaN)).toBe('');
  });
});
