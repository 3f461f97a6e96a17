// Numbers on the page: every one carries its unit, and the unit's size is the right one.

import {
  allUnits,
  bytes,
  count,
  duration,
  exactBytes,
  formula,
  gigabytes,
  grouped,
  percent,
  plural,
  sentence,
  significant,
} from '@source/format.js';
import { roundSizes } from '@source/views/heights.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

describe('bytes', () => {
  test('GiB is 2^30 bytes and GB is 10^9 bytes', () => {
    expect(gigabytes(85899345920, 'GiB')).toBe('80.0 GiB');
    expect(gigabytes(85899345920, 'GB')).toBe('85.9 GB');
    expect(gigabytes(80e9, 'GB')).toBe('80.0 GB');
    expect(gigabytes(80e9, 'GiB')).toBe('74.5 GiB');
  });

  test('the unit follows the size, with three or four digits', () => {
    expect(bytes(0, 'GiB')).toBe('0 bytes');
    expect(bytes(512, 'GiB')).toBe('512 bytes');
    expect(bytes(67108864, 'GiB')).toBe('64.0 MiB');
    expect(bytes(1048576000, 'GiB')).toBe('0.98 GiB');
    expect(bytes(26953662464, 'GiB')).toBe('25.1 GiB');
    expect(bytes(2.8e12, 'GB')).toBe('2,800 GB');
    expect(bytes(9e15, 'GB')).toBe('9,000,000 GB');
  });

  test.each([
    [3 * 2 ** 40, 'GiB', '3,072 GiB'],
    [10 * 2 ** 30, 'GiB', '10.0 GiB'],
    [5 * 2 ** 20, 'GiB', '5.00 MiB'],
    [2048, 'GiB', '2.00 KiB'],
    [1, 'GiB', '1 byte'],
    [5e12, 'GB', '5,000 GB'],
    [5e9, 'GB', '5.00 GB'],
    [5e6, 'GB', '5.00 MB'],
    [5e3, 'GB', '5.00 kB'],
    [7, 'GB', '7 bytes'],
  ] as const)('%d bytes in %s are %s', (value, units, text) => {
    expect(bytes(value, units)).toBe(text);
  });

  test('so many digits that count, but whole numbers in full', () => {
    expect([0.012345, 3.3517, 48.62, 99.96, 100.4, 11_219.4].map(value => significant(value))).toEqual([
      '0.0123',
      '3.35',
      '48.6',
      '100',
      '100',
      '11,219',
    ]);
    expect([9.96, 10.4].map(value => significant(value, 2))).toEqual(['10', '10']);
  });

  test('a thousand whole units need no fraction', () => {
    expect(gigabytes(1000e9, 'GB')).toBe('1,000 GB');
    expect(gigabytes(999.9e9, 'GB')).toBe('999.9 GB');
  });

  test('a shortage is written with a minus sign', () => {
    expect(bytes(-2147483648, 'GiB')).toBe('\u22122.00 GiB');
  });

  test('totals stand in one unit, except what is less than one', () => {
    expect(gigabytes(2 ** 40 * 2.5, 'GiB')).toBe('2,560 GiB');
    expect(gigabytes(260.5 * 2 ** 20, 'GiB')).toBe('260.5 MiB');
    expect(gigabytes(900, 'GiB')).toBe('900 bytes');
    expect(gigabytes(0, 'GiB')).toBe('0.0 GiB');
  });

  test('in bytes every figure is written out', () => {
    expect(bytes(26953662464, 'bytes')).toBe('26,953,662,464 bytes');
    expect(gigabytes(26953662464, 'bytes')).toBe('26,953,662,464 bytes');
    expect(gigabytes(-1, 'bytes')).toBe('\u22121 bytes');
    expect(gigabytes(1, 'bytes')).toBe('1 byte');
    expect(gigabytes(0, 'bytes')).toBe('0 bytes');
  });

  test('a capacity is told in both units, whatever the page speaks', () => {
    expect(allUnits(85899345920, 'GiB')).toBe('80.0 GiB (85.9 GB)');
    expect(allUnits(85899345920, 'GB')).toBe('85.9 GB (80.0 GiB)');
    expect(allUnits(85899345920, 'bytes')).toBe('85,899,345,920 bytes (80.0 GiB, 85.9 GB)');
  });

  test('the exact count is at hand', () => {
    expect(exactBytes(85899345920)).toBe('85,899,345,920 bytes');
    expect(exactBytes(1)).toBe('1 byte');
  });
});

test('counts of parameters are short', () => {
  expect(count(6738415616)).toBe('6.74 B');
  expect(count(124439808)).toBe('124 M');
  expect(count(1.05e12)).toBe('1.05 T');
  expect(count(4096)).toBe('4,096');
  expect(count(13.02e9)).toBe('13.0 B');
  expect(count(1e9)).toBe('1.00 B');
  expect(count(1e6)).toBe('1.00 M');
  expect(count(999.9e6)).toBe('1.00 B');
  expect(count(999.4e6)).toBe('999 M');
});

test('shares never pretend to be nothing', () => {
  expect(percent(1, 3)).toBe('33 %');
  expect(percent(4, 1000)).toBe('0.4 %');
  expect(percent(4, 100)).toBe('4.0 %');
  expect(percent(1, 1e6)).toBe('< 0.1 %');
  expect(percent(0, 10)).toBe('0 %');
  expect(percent(1, 0)).toBe('0 %');
  expect(percent(1, 1000)).toBe('0.1 %');
  expect(percent(10.4, 100)).toBe('10 %');
  expect(percent(9.96, 100)).toBe('10 %');
});

test('words around numbers', () => {
  expect(plural(1, 'GPU')).toBe('1 GPU');
  expect(plural(16384, 'GPU')).toBe('16,384 GPUs');
  expect(sentence('kept for backward')).toBe('Kept for backward.');
  expect(sentence('Already one.')).toBe('Already one.');
  expect(sentence(' a file.h of PyTorch ')).toBe('A file.h of PyTorch.');
  expect(sentence('  ')).toBe('');
  expect(formula('2 * 4096 * 2 bytes')).toBe('2 × 4096 × 2 bytes');
});

test('times take the unit that leaves one whole, with three digits', () => {
  expect(duration(7200)).toBe('2.00 h');
  expect(duration(3600)).toBe('1.00 h');
  expect(duration(90)).toBe('1.50 min');
  expect(duration(60)).toBe('1.00 min');
  expect(duration(2.114)).toBe('2.11 s');
  expect(duration(1)).toBe('1.00 s');
  expect(duration(0.365)).toBe('365 ms');
  expect(duration(0.0125)).toBe('12.5 ms');
  expect(duration(0.0005)).toBe('500 \u00b5s');
  expect(duration(0)).toBe('0 s');
});

test('so many digits count, and whole numbers stand in full', () => {
  expect(significant(3.3456)).toBe('3.35');
  expect(significant(48.62)).toBe('48.6');
  expect(significant(100.4)).toBe('100');
  expect(significant(11219.4)).toBe('11,219');
  expect(significant(1234.5, 4)).toBe('1,235');
});

test('heights are read by at most four round sizes', () => {
  const words = (top: number, units: 'GiB' | 'GB' | 'bytes') => roundSizes(top, units).map(({ words }) => words);
  expect(words(133 * 2 ** 30, 'GiB')).toEqual(['50 GiB', '100 GiB']);
  expect(words(84 * 2 ** 30, 'bytes')).toEqual(['20 GiB', '40 GiB', '60 GiB']);
  expect(words(1.9e12, 'GB')).toEqual(['500 GB', '1,000 GB', '1,500 GB']);
  expect(words(8.2 * 2 ** 40, 'GiB')).toEqual(['2,000 GiB', '4,000 GiB', '6,000 GiB']);
  expect(words(3.3 * 2 ** 20, 'GiB')).toEqual(['1 MiB', '2 MiB']);
  expect(roundSizes(100e9, 'GB').map(({ bytes }) => bytes)).toEqual([20e9, 40e9, 60e9, 80e9]);
});

test('digits, groups and roundings are those of the browser', () => {
  const like = (value: number, options: Intl.NumberFormatOptions = {}) =>
    new Intl.NumberFormat('en', options).format(value);
  fc.assert(
    fc.property(fc.maxSafeInteger(), value => {
      expect(grouped(value)).toBe(like(value));
    }),
  );
  fc.assert(
    fc.property(fc.double({ min: 1e-5, max: 1e9, noNaN: true }), fc.integer({ min: 1, max: 4 }), (value, digits) => {
      // A half in decimal digits is rounded as the number that stands for it.
      fc.pre(!/5$/.test(String(value)));
      expect(grouped(value)).toBe(like(value));
      if (value < 10 ** (digits - 1))
        expect(significant(value, digits)).toBe(like(value, { maximumSignificantDigits: digits }));
    }),
  );
});
