// The site as it is published: what previews of links read, and the same files at every build.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = process.env.TRAINMEM_SITE ?? join(root, 'build/site');
const site = 'https://example.org/trainmem/';
const parent = mkdtempSync(join(tmpdir(), 'trainmem-built-'));
const again = join(parent, 'again');
const published = join(parent, 'published');

const build = (folder, address) =>
  promisify(execFile)(process.execPath, ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'error'], {
    cwd: join(root, 'web'),
    env: { ...process.env, TRAINMEM_SITE: folder, TRAINMEM_ADDRESS: address },
  });
before(() => Promise.all([build(again, ''), build(published, site)]));
after(() => rmSync(parent, { recursive: true }));

const filesOf = folder =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(one => one.isFile())
    .map(one => relative(folder, join(one.parentPath ?? one.path, one.name)))
    .sort();

test('a second build, into another folder, writes the same bytes', () => {
  assert.ok(existsSync(join(built, 'index.html')), `${built} is built`);
  const names = filesOf(built);
  assert.deepEqual(filesOf(again), names);
  assert.ok(names.length > 40, names.join(' '));
  for (const name of names) {
    assert.ok(readFileSync(join(built, name)).equals(readFileSync(join(again, name))), name);
  }
});

/** Width and height of a PNG: the two numbers of its header, which comes first. */
function sizeOfPng(file) {
  const bytes = readFileSync(file);
  assert.equal(bytes.toString('latin1', 1, 4), 'PNG', file);
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

const models = () => readdirSync(join(published, 'm')).map(id => `m/${id}/`);
const texts = ['', 'method.html', 'accuracy.html', 'embedding.html', 'link.html'];

/** What a program that makes previews finds in the first 4 KB of a page, which runs no script. */
function previewOf(path) {
  const file = join(published, path, path === '' || path.endsWith('/') ? 'index.html' : '');
  const start = readFileSync(file).subarray(0, 4096).toString('utf8');
  const content = name => start.match(new RegExp(`<meta (?:property|name)="${name}" content="([^"]*)"`))?.[1];
  return { content, canonical: start.match(/<link rel="canonical" href="([^"]*)"/)?.[1] };
}

test('every page has its own title, description and address within 4 KB, and a picture of 1200 x 630', () => {
  assert.ok(models().length >= 12);
  const seen = new Set();
  for (const path of [...texts, ...models()]) {
    const { content, canonical } = previewOf(path);
    assert.equal(canonical, site + path);
    assert.equal(content('og:url'), site + path);
    for (const name of ['og:title', 'og:description']) {
      const text = content(name);
      assert.ok(text?.length > 10 && !seen.has(text), `${path} ${name}: ${text}`);
      seen.add(text);
    }
    const image = content('og:image');
    assert.ok(image?.startsWith(site), `${path}: ${image}`);
    assert.deepEqual(sizeOfPng(join(published, image.slice(site.length))), [1200, 630]);
    assert.equal(`${content('og:image:width')} x ${content('og:image:height')}`, '1200 x 630');
  }
});

test('the page of a model shows its own picture', () => {
  for (const path of models()) assert.equal(previewOf(path).content('og:image'), `${site + path}bar.png`);
});
