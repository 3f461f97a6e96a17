// The panel about speed: fetched when it is opened, a pasted measurement, wrong ones, accessibility.
import assert from 'node:assert/strict';
import { AxeBuilder, fragment, openCalculator, pageTest, settled, unfold } from './chromium.js';

const block = JSON.stringify({
  bandwidth_gb_per_s: 3012.4,
  what: 'read, fp32, arrays of 1 GiB, median of 31',
  device: 'a test of the page',
});

async function openPanel(page, link = '') {
  await openCalculator(page, link);
  await unfold(page, 'speed');
  await page.locator('#speed .atbest').waitFor();
}

async function paste(page, text) {
  const own = page.locator('#speed details.own');
  if (!(await own.evaluate(element => element.open))) await own.locator('summary').click();
  await own.locator('textarea').fill(text);
  await own.getByRole('button', { name: 'Use this measurement' }).click();
  await settled(page);
}

pageTest(
  'the panel says the most in one line, is fetched when it is opened, and says what binds each phase',
  {},
  async (page, { requests }) => {
    await openCalculator(page);
    const fetched = () => requests.filter(url => /\/details-[\w-]+\.js$/.test(url)).length;
    assert.equal(fetched(), 0);
    assert.match(await page.locator('#speed .gist').innerText(), /^a step takes .+ or more: at most .+ tokens\/s/);
    await unfold(page, 'speed');
    await page.locator('#speed .atbest').waitFor();
    assert.equal(fetched(), 1);
    assert.match(await page.locator('#speed .statement').innerText(), /optimizer step by memory/);
    assert.equal(await page.locator('#speed table.traffic tbody tr').count(), 4);
    assert.match(
      await page.locator('#speed svg[role=img]').getAttribute('aria-label'),
      /H100 SXM5 80GB: 80 GiB, 3,352 GB\/s/,
    );
  },
);

pageTest('a pasted measurement becomes the bandwidth, reaches the link, and can be taken back', {}, async page => {
  await openPanel(page);
  await paste(page, block);
  assert.match(await page.locator('#ownissues').innerText(), /a test of the page: 3,012 GB\/s/);
  assert.match(await page.locator('#speed').innerText(), /Yours\s+3,012/);
  assert.match(await fragment(page), /gpu_bw_measured=3012\.4/);
  await page.getByRole('button', { name: 'Back to the preset' }).click();
  assert.doesNotMatch(await fragment(page), /gpu_bw_measured/);
});

pageTest('a broken measurement is answered with what is wrong, and changes nothing', {}, async page => {
  await openPanel(page);
  const before = await fragment(page);
  await paste(page, '{"bandwidth_gb_per_s": 30');
  assert.match(await page.locator('#ownissues').innerText(), /JSON/);
  await paste(page, '{"bandwidth_gb_per_s": "fast", "speed": 3}');
  const issues = await page.locator('#ownissues').innerText();
  assert.match(issues, /bandwidth_gb_per_s is a number/);
  assert.match(issues, /no "speed"/);
  assert.equal(await fragment(page), before);
});

pageTest('a dropped file is taken like pasted text', {}, async page => {
  await openPanel(page);
  await page.locator('#speed details.own summary').click();
  await page.locator('#speed .ownbody').evaluate((target, text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], 'measured.json', { type: 'application/json' }));
    target.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  }, block);
  await page.locator('#ownissues', { hasText: '3,012 GB/s' }).waitFor();
  assert.match(await fragment(page), /gpu_bw_measured=3012\.4/);
});

for (const [name, options] of [
  ['wide', {}],
  ['narrow and dark', { viewport: { width: 320, height: 700 }, colorScheme: 'dark' }],
]) {
  pageTest(`the panel is accessible and fits: ${name}`, options, async page => {
    await openPanel(page);
    for (const summary of await page.locator('#speed details summary').all()) await summary.click();
    const { violations } = await new AxeBuilder({ page }).include('trainmem-calculator').analyze();
    assert.deepEqual(
      violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`),
      [],
    );
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} px too wide`);
    // Only the table of all GPUs, behind its own button, scrolls by itself.
    const wide = await page
      .locator('#speed .scrolls')
      .evaluateAll(all => all.slice(0, 2).map(one => one.scrollWidth - one.clientWidth));
    assert.deepEqual(wide, [0, 0]);
  });
}
