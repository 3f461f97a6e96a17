// Every test that web/ACCESSIBILITY.md names exists, and every row names one or says that it was done by hand.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const sheet = read('web/ACCESSIBILITY.md');
const rows = sheet.split('\n').filter(line => /^\| \d/.test(line));
const named = [...sheet.matchAll(/`([a-z_]+\.test\.[jt]s)` ([^,|)]+)/g)].map(
  ([, file, words]) => [file, words!.trim()] as const,
);

test('there are rows, and each is checked', () => {
  expect(rows.length).toBeGreaterThan(35);
  expect(rows.filter(row => !row.includes('→ `') && !row.includes('| by hand |'))).toEqual([]);
});

test.each(named)('%s has the test "%s"', (file, words) => {
  const folder = file.endsWith('.js') ? 'browser' : 'unit';
  expect(read(`tests/web/${folder}/${file}`)).toContain(words);
});
