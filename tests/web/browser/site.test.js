// The pages around the calculator: the faces of failure, offline, one page per popular model, link previews.
import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadEngine } from '../../../wasm_bindings/node_loader.mjs';
import { AxeBuilder, headline, live, openCalculator, origin, pageTest, total, unfold } from './chromium.js';

const folder = process.env.TRAINMEM_SITE ?? fileURLToPath(new URL('../../../build/site', import.meta.url));
const axe = async page => {
  const found = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze();
  assert.deepEqual(
    found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`),
    [],
  );
};

pageTest('offline.html works from a disk, under its own strict policy', {}, async (page, { requests }) => {
  await openCalculator(page, 'v=1&model=mistral-7b-v0.1&gpu=a100-80gb-sxm&recipe=bf16-one-gpu&end');
  const expected = await total(page);
  await page.goto('about:blank'); // what the calculator still fetches ends here
  const before = requests.length;
  const address = pathToFileURL(join(folder, 'offline.html')).href;
  await page.goto(`${address}#v=1&model=mistral-7b-v0.1&gpu=a100-80gb-sxm&recipe=bf16-one-gpu&end`);
  await page.locator('trainmem-calculator .total').waitFor();
  assert.equal(await total(page), expected);
  await page.getByLabel('Sequence length', { exact: true }).fill('2048');
  await page.waitForURL(/^file:.*seq=2048&end$/);
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('dialog', { name: 'Export' }).waitFor();
  assert.deepEqual(
    requests.slice(before).map(url => new URL(url).protocol),
    ['file:'],
    'one file and nothing else',
  );
  assert.ok((await readFile(join(folder, 'offline.html'))).length < 890_000);
});

pageTest(
  'after the first visit the calculator opens without a network',
  { tolerate: /Failed to load resource/ },
  async (page, { session }) => {
    await openCalculator(page);
    const expected = await headline(page);
    await page.waitForTimeout(4200);
    await page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      while (registration.active?.state !== 'activated') await new Promise(resolve => setTimeout(resolve, 50));
    });
    await session.setOffline(true);
    await page.reload();
    await page.locator(`trainmem-calculator ${live}`).waitFor();
    assert.equal(await headline(page), expected);
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByRole('dialog', { name: 'Import' }).waitFor();
    for (const name of ['method', 'accuracy', 'embedding', 'link']) {
      await page.goto(`${origin()}/${name}.html`);
      await page.locator('main h1').waitFor();
    }
    // A model's page that was never visited: the calculator with that model.
    await page.goto(`${origin()}/m/llama3.1-70b/`);
    await page.locator(`trainmem-calculator ${live}`).waitFor();
    assert.match(await headline(page), /^Llama 3.1 \/ 3.3 70B needs/);
    await session.setOffline(false);
  },
);

pageTest(
  'where what keeps the page does not come, nothing is said',
  { tolerate: /Failed to load resource/ },
  async page => {
    const asked = page.waitForRequest('**/offline-*.js');
    await page.route('**/offline-*.js', route => route.abort());
    await openCalculator(page);
    await asked;
    await page.waitForTimeout(200);
    assert.equal(await page.locator('.notices *').count(), 0);
  },
);

pageTest('without JavaScript the page shows exact numbers', { javaScriptEnabled: false }, async page => {
  await page.goto(`${origin()}/`);
  await page.waitForTimeout(1200); // it appears after a second, so that it does not flash where the calculator comes
  const text = await page.locator('.fallback').innerText();
  assert.match(text, /needs JavaScript/);
  const engine = await loadEngine(join(folder, '../wasm'));
  const { allocated } = JSON.parse(engine.estimate('model=llama2-7b&gpu=h100-sxm')).result;
  assert.ok(text.includes(allocated.toLocaleString('en')));
});

pageTest(
  'without WebAssembly the page says so, and offers to try again',
  { tolerate: /CompileError|wasm/i },
  async page => {
    await page.addInitScript(() => {
      WebAssembly.compileStreaming = WebAssembly.compile = () =>
        Promise.reject(new WebAssembly.CompileError('refused'));
    });
    await openCalculator(page);
    await page.mouse.move(100, 100);
    const notice = page.getByRole('alert');
    await notice.waitFor();
    assert.match(await notice.innerText(), /engine could not be loaded/);
    await axe(page);
  },
);

pageTest(
  'an engine that does not come is named with its address',
  { tolerate: /Failed to load resource/ },
  async page => {
    await page.route('**/*.wasm', route => route.abort());
    await openCalculator(page);
    await page.mouse.move(100, 100);
    await page.getByRole('alert').waitFor();
    await page.unroute('**/*.wasm');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  },
);

for (const model of ['llama2-7b', 'llama2-13b', 'llama3.1-70b', 'gpt3-175b', 'llama3.1-405b']) {
  pageTest(`m/${model}: exact numbers in the HTML, a preview, and the same numbers live`, {}, async page => {
    const response = await fetch(`${origin()}/m/${model}/`);
    const html = await response.text();
    const head = html.slice(0, 4096);
    for (const tag of ['og:title', 'og:description', 'description'])
      assert.match(head, new RegExp(`"${tag}" content="[^"]{20,}`));
    const [, parts] = html.match(/The parts sum to ([\d,]+) bytes/);
    const bytes = [
      ...html.slice(html.indexOf('aria-label="Parts"')).matchAll(/<tr><td>[^<]+<\/td><td>[^<]+<\/td><td>([\d,]+)</g),
    ];
    const number = text => Number(text.replaceAll(',', ''));
    assert.equal(
      bytes.reduce((sum, [, text]) => sum + number(text), 0),
      number(parts),
    );
    await page.goto(`${origin()}/m/${model}/`);
    await page.locator('trainmem-calculator').scrollIntoViewIfNeeded();
    await page.locator('trainmem-calculator .total').waitFor();
    const live = await page.locator('trainmem-calculator').evaluate(element => element.calculator.state.good.result);
    assert.equal(live.device.expected, number(parts));
    assert.ok(await page.locator('main img').evaluate(image => image.naturalWidth === 1200));
    await axe(page);
    const drawn = await access(join(folder, 'm', model, 'bar.png')).then(
      () => true,
      () => false,
    );
    assert.equal(/og:image/.test(head), drawn, 'a preview has a picture if one was drawn');
  });
}

for (const name of ['link', 'embedding', 'method']) {
  pageTest(`${name}.html has no findings of axe, and its links lead somewhere`, {}, async page => {
    await page.goto(`${origin()}/${name}.html`);
    await axe(page);
    const addresses = await page.locator('a[href]').evaluateAll(all => all.map(({ href }) => href));
    for (const address of new Set(
      addresses.filter(href => href.startsWith(origin())).map(href => href.split('#')[0]),
    )) {
      assert.equal((await fetch(address)).status, 200, address);
    }
  });
}

pageTest('the page of links lists every key', {}, async page => {
  await page.goto(`${origin()}/link.html`);
  const rows = await page.getByRole('group', { name: 'Keys of links' }).getByRole('row').count();
  await openCalculator(page);
  const fields = await page
    .locator('trainmem-calculator')
    .evaluate(element => element.calculator.state.engine.presets.fields.length);
  assert.equal(rows, fields + 1);
});

const textPages = [
  'method.html',
  'accuracy.html',
  'embedding.html',
  'link.html',
  'm/llama3.1-70b/',
  'm/qwen3-30b-a3b/',
];
for (const width of [320, 390])
  pageTest(
    `pages of text have no horizontal scrolling at ${width} pixels`,
    { viewport: { width, height: 800 } },
    async page => {
      for (const name of textPages) {
        await page.goto(`${origin()}/${name}`);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, name);
      }
    },
  );

pageTest(
  'the embedding guide speaks of its own address, copies, and shows each view',
  {},
  async (page, { session }) => {
    await session.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: origin() });
    await page.goto(`${origin()}/embedding.html`);
    await page.getByRole('button', { name: 'compact' }).click();
    await page.locator('trainmem-calculator .compact').waitFor();
    await page.getByRole('button', { name: 'Copy', exact: true }).first().click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.includes(`src="${origin()}/trainmem-calculator.js"`), copied);
    assert.match(copied, /<trainmem-calculator view="compact" config="v=1&amp;model=llama2-7b/);
    assert.doesNotMatch(await page.locator('main').innerText(), /example\.org/);
    const cut = await page
      .locator('pre')
      .evaluateAll(all => all.filter(one => one.scrollWidth > one.clientWidth).length);
    assert.equal(cut, 0);
    await axe(page);
  },
);

pageTest('pages of text show every number and name that they speak of', {}, async page => {
  for (const name of textPages) {
    await page.goto(`${origin()}/${name}`);
    const text = await page.locator('main').evaluate(main => main.textContent);
    assert.doesNotMatch(text, /undefined|NaN|\[object|null to/, name);
  }
});

pageTest(
  'the parts of a model stand under each other on a phone, each in two lines at most',
  { viewport: { width: 390, height: 844 } },
  async page => {
    await page.goto(`${origin()}/m/llama3.1-70b/`);
    const heights = await page.locator('.parts tr').evaluateAll(rows => rows.map(row => row.offsetHeight));
    assert.ok(heights.length > 6 && Math.min(...heights) > 20 && Math.max(...heights) < 80, heights.join(' '));
    const [shown, whole] = await page
      .locator('.wide:has(.parts)')
      .evaluate(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth]);
    assert.ok(whole <= shown, `${whole} in ${shown} pixels`);
  },
);

pageTest('print shows the answer and its rows, in light colours, without controls', {}, async page => {
  await openCalculator(page);
  const shown = selector => page.locator(`trainmem-calculator ${selector}`).first().isVisible();
  const controls = ['.knobs', '.copy', 'fieldset.units', 'fieldset.timeline'];
  for (const control of controls) assert.equal(await shown(control), true, control);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  for (const control of controls) assert.equal(await shown(control), false, control);
  for (const part of ['.total', '.barbox .segments', 'tr.row', '.printed']) assert.equal(await shown(part), true, part);
  assert.equal(
    (await page.locator('trainmem-calculator .printed').innerText()).split(' ').at(-1),
    `${origin()}/#v=1&model=llama2-7b&gpu=h100-sxm&end`,
  );
  const background = await page
    .locator('trainmem-calculator')
    .evaluate(element => getComputedStyle(element).backgroundColor);
  assert.equal(background, 'rgb(255, 255, 255)');
});

pageTest('paper shows whole names, nothing to open, and is light for those who chose dark', {}, async page => {
  await page.addInitScript(() => localStorage.setItem('trainmem-theme', 'dark'));
  await openCalculator(page, 'v=1&model=gpt3-175b&gpu=h100-sxm&recipe=megatron-gpt3-175b&end');
  await unfold(page, 'ladder');
  await page.locator('.outside summary').waitFor();
  await page.setViewportSize({ width: 794, height: 1123 });
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'light');
  const cut = await page
    .locator('.pick > span')
    .evaluateAll(all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent));
  assert.deepEqual(cut, []);
  assert.equal(await page.locator('.outside summary').isVisible(), false);
  assert.equal(await page.locator('.pick > .chevron').first().isVisible(), false);
});

for (const name of ['', 'method.html', 'm/llama2-7b/'])
  pageTest(
    `a reader's choice of dark holds before script has come, on /${name}`,
    { tolerate: /Failed to/ },
    async page => {
      await page.route('**/trainmem-calculator.js', route => route.abort());
      await page.addInitScript(() => localStorage.setItem('trainmem-theme', 'dark'));
      await page.goto(`${origin()}/${name}`);
      assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
    },
  );
