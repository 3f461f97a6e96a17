// What the page is made of: one package at run time, known licences, whole contents pinned by the lockfile.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
// @ts-expect-error: a script of the build, without types
import { billOfMaterials } from '../../../web/pages/bill_of_materials.js';

interface Package {
  license?: string;
  integrity?: string;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../../web/${name}`, import.meta.url), 'utf8'));
const packages = Object.entries(read('package-lock.json').packages as Record<string, Package>).filter(([path]) => path);

const allowed = [
  'MIT',
  'BSD-3-Clause',
  'BSD-2-Clause',
  'BlueOak-1.0.0',
  'Apache-2.0',
  'MIT OR Apache-2.0',
  'ISC',
  '0BSD',
  'MPL-2.0',
];

describe('the supply chain', () => {
  test('lit is the only package that the page depends on', () => {
    expect(Object.keys(read('package.json').dependencies)).toEqual(['lit']);
  });

  test('every package has a licence that is allowed, and a hash', () => {
    for (const [path, { license, integrity }] of packages) {
      expect(allowed, path).toContain(license);
      expect(integrity, path).toMatch(/^sha512-/);
    }
  });

  test('the bill of materials has lit and what lit needs, with their hashes', () => {
    const { components } = billOfMaterials() as { components: { name: string; purl: string; hashes: unknown[] }[] };
    const names = components.map(({ name }) => name);
    expect(names).toContain('lit');
    expect(names.every(name => /^(lit|@lit|@types\/trusted-types)/.test(name))).toBe(true);
    expect(components.find(({ name }) => name === 'lit')).toMatchObject({
      purl: expect.stringMatching(/^pkg:npm\/lit@\d/),
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    });
  });
});
