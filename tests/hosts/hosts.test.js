// The recipes of the embedding guide, built by the real generators and opened in Chromium: each page shows the total
// that the engine gives for its link.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '../../site/server.mjs';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';
import { origin, pageTest } from '../web/browser/chromium.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const published = 'https://example.org/trainmem/';
const link = 'v=1&model=llama2-7b&gpu=h100-sxm&end';

const engine = await loadEngine(join(root, 'build/wasm'));
const { device } = JSON.parse(engine.estimate(link)).result;
const expected = `${(device.expected / 2 ** 30).toFixed(1)} GiB`;

/** A copy of the recipe under build/hosts, with the address of the site under test. */
async function prepared(name) {
  const folder = join(root, 'build/hosts', name);
  await rm(folder, { recursive: true, force: true });
  await cp(join(root, 'site/recipes', name), folder, { recursive: true });
  for (const entry of await readdir(folder, { recursive: true })) {
    const file = join(folder, entry);
    if (!(await stat(file)).isFile()) continue;
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(published, `${origin()}/`));
  }
  return folder;
}

const mkdocs = async folder => {
  await run('mkdocs', [
    'build',
    '--quiet',
    '--config-file',
    join(folder, 'mkdocs.yml'),
    '--site-dir',
    join(folder, 'site'),
  ]);
  return join(folder, 'site');
};

const generators = {
  plain: async folder => folder,
  mkdocs,
  'mkdocs-material': mkdocs,
  sphinx: async folder => {
    await run('sphinx-build', ['-q', '-b', 'html', folder, join(folder, 'site')]);
    return join(folder, 'site');
  },
  hugo: async folder => {
    await run('hugo', ['--quiet', '--source', folder, '--destination', 'site']);
    return join(folder, 'site');
  },
  vitepress: async folder => {
    // Installed beside the copies, where it stays for the next time.
    const hosts = join(folder, '..');
    await cp(join(root, 'tests/hosts/package.json'), join(hosts, 'package.json'));
    await run(
      'npm',
      ['install', '--no-package-lock', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'],
      {
        cwd: hosts,
      },
    );
    await run('npx', ['vitepress', 'build', folder], { cwd: hosts });
    return join(folder, '.vitepress/dist');
  },
};

/** Builds a host, serves it on an origin of its own, and hands its address over. */
async function hosted(name, body) {
  const folder = await generators[name](await prepared(name));
  const { server } = await serve({ folder, contentSecurityPolicy: false });
  try {
    await body(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.close();
  }
}

async function showsTotal(page) {
  await page.locator('trainmem-calculator .total').waitFor({ timeout: 15_000 });
  assert.equal(await page.locator('trainmem-calculator .total').innerText(), expected);
  assert.equal(await page.locator('trainmem-calculator').count(), 1);
  assert.ok((await page.locator('trainmem-calculator').boundingBox()).height > 150);
}

// What a host's own theme says, asks of the network or lacks, such as an icon, is not our matter.
const tolerate = /^log:|Failed to load resource|favicon|preload/;

const pages = {
  plain: ['/'],
  mkdocs: ['/'],
  sphinx: ['/', '/memory.html'],
  hugo: ['/memory/'],
  vitepress: ['/'],
};
for (const [name, paths] of Object.entries(pages)) {
  pageTest(`${name}: the page shows ${expected}`, { tolerate, limit: 300_000 }, page =>
    hosted(name, async address => {
      for (const path of paths) {
        await page.goto(address + path);
        await showsTotal(page);
      }
    }),
  );
}

pageTest(`mkdocs-material: instant navigation shows ${expected}`, { tolerate, limit: 300_000 }, page =>
  hosted('mkdocs-material', async address => {
    await page.goto(address);
    await page.getByRole('link', { name: 'memory', exact: true }).click();
    await showsTotal(page);
    await page.goto(`${address}/memory/`);
    await showsTotal(page);
  }),
);
