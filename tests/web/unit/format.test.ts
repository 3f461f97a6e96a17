// Numbers on the page: every one carries its unit, and the unit's size is the right one.

import { bytes, count, exactBytes, formula, gigabytes, percent, plural, sentence } from '@source/format.js';
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
    expect(bytes(2.8e12, 'GB')).toBe('2.80 TB');
    expect(bytes(9e15, 'GB')).toBe('9,000 TB');
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
});

test('shares never pretend to be nothing', () => {
  expect(percent(1, 3)).toBe('33 %');
  expect(percent(4, 1000)).toBe('0.4 %');
  expect(percent(1, 1e6)).toBe('< 0.1 %');
  expect(percent(0, 10)).toBe('0 %');
  expect(percent(1, 0)).toBe('0 %');
});

test('words around numbers', () => {
  expect(plural(1, 'GPU')).toBe('1 GPU');
  expect(plural(16384, 'GPU')).toBe('16,384 GPUs');
  expect(sentence('kept for backward')).toBe('Kept for backward.');
  expect(sentence('Already one.')).toBe('Already one.');
  expect(formula('2 * 4096 * 2 bytes')).toBe('2 × 4096 × 2 bytes');
});
