// No source of the page imports itself, not even by way of others, and not for types either: what is seen first can be
// read without what comes later. A script that is fetched later may import what fetches it.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../../../web/source', import.meta.url));

/** Modules of the page that a source imports as it is loaded, or the types of. */
function importsOf(name: string): string[] {
  const text = readFileSync(join(folder, name), 'utf8');
  const said = text.matchAll(/^(?:import|export)\b[^;]*?\bfrom '(\.[^']+)\.js'|^import '(\.[^']+)\.js'/gm);
  const types = text.matchAll(/\btypeof import\('(\.[^']+)\.js'\)/g);
  return [...said, ...types].map(([, from, bare]) => `${join(name, '..', (from ?? bare)!)}.ts`);
}

/** The first way from `name` back to itself. */
function circle(imports: Map<string, string[]>, name: string, way: string[] = []): string[] | undefined {
  if (way.includes(name)) return [...way.slice(way.indexOf(name)), name];
  for (const next of imports.get(name) ?? []) {
    const found = circle(imports, next, [...way, name]);
    if (found) return found;
  }
  imports.delete(name);
  return undefined;
}

test('nothing is imported in a circle', () => {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));
  const imports = new Map(names.map(name => [name, importsOf(name)]));
  expect([...imports.values()].flat().length).toBeGreaterThan(names.length);
  expect(names.map(name => circle(imports, name)).find(Boolean)).toBeUndefined();
});

test('a circle is found', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', []],
    ['d', ['b']],
  ]);
  expect(circle(imports, 'a')).toEqual(['b', 'd', 'b']);
});
