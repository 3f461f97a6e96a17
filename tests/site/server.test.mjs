// The server of site/serve: media types, headers, and paths that try to leave the folder.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serve } from '../../site/server.mjs';

let started;
before(async () => {
  const parent = mkdtempSync(join(tmpdir(), 'trainmem-site-'));
  const folder = join(parent, 'site');
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(parent, 'secret.txt'), 'secret');
  mkdirSync(join(parent, 'site-other'));
  writeFileSync(join(parent, 'site-other', 'secret.txt'), 'secret');
  writeFileSync(join(folder, 'index.html'), '<p>page</p>');
  writeFileSync(join(folder, 'assets', 'trainmem-B1xYz_09.wasm'), 'wasm');
  started = await serve({ folder });
});
after(() => {
  started.server.closeAllConnections();
  started.server.close();
});

/** The path goes out as it stands: fetch() would tidy it first. */
function get(path, method = 'GET') {
  return new Promise((resolve, reject) => {
    const { port } = started.server.address();
    const sent = request({ host: '127.0.0.1', port, path, method }, answer => {
      let text = '';
      answer.on('data', part => (text += part)).on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
    });
    sent.on('error', reject).end();
  });
}

test('a folder gives its index page, with the content policy and readable from other origins', async () => {
  const { status, headers, text } = await get('/');
  assert.equal(status, 200);
  assert.equal(text, '<p>page</p>');
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.match(headers['content-security-policy'], /default-src 'none'; script-src 'self' 'wasm-unsafe-eval'/);
  assert.equal(headers['access-control-allow-origin'], '*');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['cache-control'], 'no-cache');
});

test('wasm has its media type, without which browsers do not compile while they load', async () => {
  const { headers } = await get('/assets/trainmem-B1xYz_09.wasm');
  assert.equal(headers['content-type'], 'application/wasm');
  assert.match(headers['cache-control'], /immutable/);
});

test('text and wasm are compressed for those who can unpack them', async () => {
  const { port } = started.server.address();
  const answer = await fetch(`http://127.0.0.1:${port}/assets/trainmem-B1xYz_09.wasm`);
  assert.equal(answer.headers.get('content-encoding'), 'gzip');
  assert.equal(await answer.text(), 'wasm');
});

test('no path leaves the folder', async () => {
  const attempts = ['/../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/assets/../../secret.txt', '/%2e%2e%2fsite-other/secret.txt', '/..%5csecret.txt'];
  for (const path of attempts) {
    const { status, text } = await get(path);
    assert.notEqual(status, 200, path);
    assert.doesNotMatch(text, /secret/, path);
  }
});

test('broken requests are answered, and the server lives on', async () => {
  assert.equal((await get('/%ff')).status, 404);
  assert.equal((await get('/%00')).status, 404);
  assert.equal((await get('//')).status, 200);
  assert.equal((await get('/', 'POST')).status, 405);
  assert.equal((await get('/', 'HEAD')).text, '');
  assert.equal((await get('/nothing')).status, 404);
  assert.equal((await get('/')).status, 200);
});
