// What every browser test stands on: the built site on one origin, another origin beside it, the system's Chromium,
// and pages that fail their test on any console message, page error or violation of the content policy.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serve } from '../../../site/server.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
// The packages of the page's tools stand in web/.
const packages = createRequire(join(root, 'web/package.json'));
const { chromium } = packages('playwright-core');
export const { AxeBuilder } = packages('@axe-core/playwright');

const siteFolder = process.env.TRAINMEM_SITE ?? join(root, 'build/site');

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let browser;
let site;
let siteOrigin;

before(async () => {
  const started = await serve({ folder: siteFolder });
  site = started.server;
  siteOrigin = `http://127.0.0.1:${site.address().port}`;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });
});

after(async () => {
  await browser?.close();
  site?.close();
});

export const origin = () => siteOrigin;

/** Serves pages, given as texts by name, from another origin with a policy of its own choosing: none. */
export async function otherOrigin(pages) {
  await mkdir(join(root, 'build'), { recursive: true });
  const folder = await mkdtemp(join(root, 'build/host-'));
  for (const [name, text] of Object.entries(pages)) await writeFile(join(folder, name), text);
  const { server } = await serve({ folder, contentSecurityPolicy: false });
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Reports violations through the console, which every test watches; frames included. */
const watchPolicy = () =>
  addEventListener('securitypolicyviolation', event => {
    console.error(`content policy: ${event.violatedDirective} refused ${event.blockedURI}`);
  });

/**
 * A test with a fresh page. `options` are Playwright's context options; `tolerate` is a pattern of console messages
 * that the test provokes on purpose, `limit` the milliseconds that it may take.
 */
export function pageTest(name, options, body) {
  const { tolerate, limit = 120_000, ...context } = options;
  test(name, { timeout: limit }, async () => {
    const session = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
    const messages = [];
    const requests = [];
    try {
      session.setDefaultTimeout(20_000);
      await session.addInitScript(watchPolicy);
      const page = await session.newPage();
      page.on('console', message => messages.push(`${message.type()}: ${message.text()}`));
      page.on('pageerror', error => messages.push(`error: ${error.message}`));
      page.on('request', request => {
        if (!request.url().startsWith('data:')) requests.push(request.url());
      });
      await body(page, { session, requests });
      const unwanted = messages.filter(message => !tolerate?.test(message));
      assert.deepEqual(unwanted, [], 'the console stays empty');
    } finally {
      await session.close();
    }
  });
}

/** Opens the calculator with a fragment and waits for its first answer, or for what stands in its place. */
export async function openCalculator(page, fragment = '', answer = live) {
  await page.goto(`${origin()}/${fragment ? `#${fragment}` : ''}`);
  await page.locator(`trainmem-calculator ${answer}`).first().waitFor();
  await settled(page);
}

/** The answer that script has drawn: the one that the page carries answers to nothing. */
export const live = '.total:not([inert] *)';

/** Waits until the answer to the last edit is on the screen. */
export const settled = page =>
  page
    .locator('trainmem-calculator')
    .first()
    .evaluate(element => customElements.whenDefined('trainmem-calculator').then(() => element.updateComplete));

/** The page's patience has no end: a slow machine is not taken for a reader who waits. Before the page is opened. */
export const patient = page =>
  page.addInitScript(() => {
    const after = window.setTimeout;
    window.setTimeout = (act, pause, ...rest) => (pause >= 4000 ? 0 : after(act, pause, ...rest));
  });

const text = selector => async page => {
  await settled(page);
  return page.locator(`trainmem-calculator ${selector}`).first().innerText();
};
export const total = text('.total');
export const headline = text('.headline');

/** Opens a panel that one line stands for. */
export async function unfold(page, id) {
  const heading = page.locator(`#${id} .unfold`);
  if ((await heading.getAttribute('aria-expanded')) === 'false') await heading.click();
}

/** Picks a preset by typing part of its name. */
export async function pick(page, section, query, name) {
  await page.locator(`#picker-${section}`).click();
  await page.locator(`#search-${section}`).fill(query);
  await page.getByRole('option', { name, exact: false }).first().click();
  await settled(page);
}

/** The fragment once the throttled write has happened: the page's own timers run in their order, however late. */
export async function fragment(page) {
  await settled(page);
  await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 250)));
  return new URL(page.url()).hash.slice(1);
}
