// The embedding guide names every custom property and every part that the element has, and no other.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { unitNames } from '../../../web/source/format.js';
import { tokens } from '../../../web/source/styles/tokens.js';

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const guide = readFileSync(at('site/embedding.html'), 'utf8');
const all = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(found => found[1]))].sort();

test('every word that `units` takes is in the guide', () => {
  const said = /<td><code>units<\/code><\/td><td>(.*?);/.exec(guide)![1]!;
  expect(all(said, /<code>(\w+)<\/code>/g)).toEqual([...unitNames].sort());
});

test('every custom property is in the guide', () => {
  const used = all(tokens.cssText, /var\(\s*(--trainmem-[\w-]+)/g);
  expect(used.length).toBeGreaterThan(12);
  expect(all(guide, /<code>(--trainmem-[\w-]+)<\/code>/g)).toEqual(used);
});

test('every part is in the guide', () => {
  const views = ['trainmem-calculator.ts', ...readdirSync(at('web/source/views')).map(name => `views/${name}`)];
  const used = all(views.map(name => readFileSync(at(`web/source/${name}`), 'utf8')).join('\n'), / part="(\w+)"/g);
  expect(all(guide, /::part\((\w+)\)/g)).toEqual(used);
});
