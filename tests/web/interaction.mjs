// Prints how long the page takes: to start the engine, to answer an edit, and, with the processor slowed four times,
// from an input of every kind to the paint that shows it.
// Usage: node tests/web/interaction.mjs [--slow 4] [--rounds 4] [--profile FILE]
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serve } from '../../site/server.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { chromium } = createRequire(join(root, 'web/package.json'))('playwright-core');
const { values } = parseArgs({
  options: {
    slow: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '4' },
    profile: { type: 'string' },
  },
});

const { server } = await serve({ folder: process.env.TRAINMEM_SITE ?? join(root, 'build/site') });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // The window itself has the size: of an emulated one the lowest 87 pixels lie outside the window, and what is drawn
  // there counts as seen with the next change elsewhere.
  args: ['--headless', '--window-size=1280,987', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});
const address = `http://127.0.0.1:${server.address().port}/`;
const median = list => list.toSorted((a, b) => a - b)[list.length >> 1];

/** From the bytes of the engine to an instance that can be asked, in a page that has just been opened. */
async function engineStart() {
  const context = await browser.newContext();
  const page = await context.newPage();
  const [wasm] = await Promise.all([page.waitForResponse(/\.wasm$/), page.goto(`${address}#v=1&model=gpt2&end`)]);
  await page.locator('trainmem-calculator .total').waitFor();
  const took = await page.evaluate(async url => {
    const script = performance.getEntriesByType('resource').find(({ name }) => /instance-/.test(name));
    const bytes = await (await fetch(url)).arrayBuffer();
    const [instantiate] = Object.values(await import(script.name));
    const start = performance.now();
    await instantiate(await WebAssembly.compile(bytes));
    return performance.now() - start;
  }, wasm.url());
  await context.close();
  return took;
}
const starts = [];
for (let round = 0; round < 5; round++) starts.push(await engineStart());
console.log(`the engine starts in ${median(starts).toFixed(0)} ms (median of five)`);

const page = await browser.newPage({ viewport: null });
await page.addInitScript(() => {
  globalThis.entries = [];
  new PerformanceObserver(list => {
    for (const { name, duration, interactionId, processingStart, processingEnd, startTime } of list.getEntries())
      if (interactionId) entries.push({ name, duration, wait: processingStart - startTime, work: processingEnd - processingStart });
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });
});
await page.goto(address);
await page.locator('trainmem-calculator .total:not([inert] *)').waitFor();
await page.waitForTimeout(3000);

const session = await page.context().newCDPSession(page);
await session.send('Performance.enable', { timeDomain: 'threadTicks' });
const clock = async () => {
  const { metrics } = await session.send('Performance.getMetrics');
  const of = name => metrics.find(metric => metric.name === name).value * 1000;
  return { script: of('ScriptDuration'), style: of('RecalcStyleDuration'), layout: of('LayoutDuration'), task: of('TaskDuration') };
};

// An edit with its answer, all of it drawn: processor time of the page's thread.
const edits = 40;
const beforeEdits = await clock();
await page.locator('trainmem-calculator').evaluate(async (element, edits) => {
  for (let edit = 0; edit < edits; edit++) {
    element.calculator.set('/recipe/micro_batch_size', 1 + (edit % 4));
    await element.updateComplete;
  }
}, edits);
const afterEdits = await clock();
const perEdit = name => ((afterEdits[name] - beforeEdits[name]) / edits).toFixed(1);
console.log(
  `an edit takes ${perEdit('task')} ms: engine and views ${perEdit('script')}, style ${perEdit('style')}, layout ${perEdit('layout')}, the rest is painting and waiting`,
);

await session.send('Emulation.setCPUThrottlingRate', { rate: Number(values.slow) });
if (values.profile) {
  await session.send('Profiler.enable');
  await session.send('Profiler.start');
}

const field = label => page.getByLabel(label, { exact: true }).first();
const press = key => page.keyboard.press(key);
const rest = () => page.waitForTimeout(250);
/** A hand comes to rest before it presses: scrolling and hovering are over then. */
async function pointAt(locator) {
  await locator.scrollIntoViewIfNeeded();
  const box = await locator.boundingBox();
  await page.mouse.move(box.x + Math.min(40, box.width / 2), box.y + box.height / 2);
}
async function click() {
  await page.mouse.down();
  await page.mouse.up();
}
/** Each makes ready, and gives the input that is measured. */
const kinds = {
  async 'a digit typed'(round) {
    await field('Micro-batch size').focus();
    await press('End');
    await press('Backspace');
    return () => press(String(1 + (round % 4)));
  },
  async 'an arrow key in a field'(round) {
    await field('Sequence length').focus();
    return () => press(round % 2 ? 'ArrowDown' : 'ArrowUp');
  },
  async 'a slider'(round) {
    await page.locator('input[type=range]').first().focus();
    return () => press(round % 2 ? 'ArrowLeft' : 'ArrowRight');
  },
  async 'a switch'() {
    await page.locator('#knobs input[type=checkbox]').first().focus();
    return () => press('Space');
  },
  async 'a row opened'(round) {
    await pointAt(page.locator('tr.row button').nth(round % 4));
    return click;
  },
  async 'a panel opened'(round) {
    await pointAt(page.locator(`#${['ladder', 'textbook', 'speed'][round % 3]} .unfold`));
    return click;
  },
  async units(round) {
    await pointAt(page.locator(`input[name=units][value=${round % 2 ? 'GiB' : 'GB'}]`));
    return click;
  },
  async 'a list opened'(round) {
    await pointAt(page.locator(`#picker-${['model', 'gpu', 'recipe'][round % 3]}`));
    return click;
  },
  async 'a letter of a search'() {
    return () => page.keyboard.type('ll');
  },
  async 'an arrow key in a list'() {
    return async () => {
      await press('ArrowDown');
      await press('ArrowDown');
    };
  },
  async 'a preset chosen'() {
    return () => press('Enter');
  },
  async 'More opened or closed'() {
    await pointAt(page.locator('details.more > summary'));
    return click;
  },
  async 'an axis chosen'(round) {
    await pointAt(page.locator('#sweeps .axes label').nth(1 + (round % 3)));
    return click;
  },
  async 'a change applied'() {
    await page.locator('#advice:not([aria-busy=true])').waitFor();
    await pointAt(page.locator('#advice .suggestion .button').last());
    return click;
  },
  async 'compared or no longer'(round) {
    await pointAt(page.getByRole('button', { name: round % 2 ? 'Stop comparing' : 'Compare', exact: true }).first());
    return click;
  },
  async undo() {
    await page.mouse.move(4, 400);
    await click();
    return () => press('Control+z');
  },
};

// A press on nothing: the browser's driver listens to presses too, and what it does first is not the page's.
await page.mouse.move(4, 400);
await click();
await press('Shift');
await rest();

const seen = new Map(Object.keys(kinds).map(kind => [kind, []]));
const spent = new Map(Object.keys(kinds).map(kind => [kind, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [kind, act] of Object.entries(kinds)) {
    const measured = await act(round);
    await rest();
    const before = await clock();
    await page.evaluate(() => void (entries.length = 0));
    await measured();
    await page.waitForTimeout(600);
    seen.get(kind).push(...(await page.evaluate(() => entries.splice(0))));
    const after = await clock();
    spent.get(kind).push(Object.fromEntries(Object.entries(after).map(([name, time]) => [name, time - before[name]])));
  }
}
if (values.profile) await writeFile(values.profile, JSON.stringify((await session.send('Profiler.stop')).profile));

const worst = (list, of) => Math.round(Math.max(0, ...list.map(of)));
const typical = (list, of) => Math.round(median(list.map(of).concat(list.length ? [] : [0])));
const mean = (list, of) => (list.reduce((sum, one) => sum + of(one), 0) / list.length).toFixed(0);
console.log(`milliseconds, processor ${values.slow} times slower; task, script, style and layout: mean of the whole action`);
console.log('input to paint: worst, median | waiting | handlers | task script style layout |');
for (const [kind, list] of seen) {
  const cost = spent.get(kind);
  const costs = ['task', 'script', 'style', 'layout'].map(name => mean(cost, one => one[name]).padStart(6)).join('');
  console.log(
    `${String(worst(list, one => one.duration)).padStart(8)} ${String(typical(list, one => one.duration)).padStart(6)} ${String(worst(list, one => one.wait)).padStart(6)} ${String(worst(list, one => one.work)).padStart(6)} |${costs} | ${kind}`,
  );
}
await browser.close();
server.close();
