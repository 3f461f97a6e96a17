// Advice, sweeps, the GPUs it fits on, plans, comparison, undo: each as a reader uses it, and each without findings.
import assert from 'node:assert/strict';
import { AxeBuilder, fragment, openCalculator, origin, pageTest, pick, settled, total, unfold } from './chromium.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const slow = { timeout: 60_000 };
const small = 'v=1&model=gpt2&gpu=rtx-4090&mbs=8&seq=1024&end';

async function advised(page) {
  await page.locator('#advice[aria-busy=false] .suggestion').first().waitFor(slow);
}

async function explored(page) {
  await advised(page);
  await page.locator('#sweeps').scrollIntoViewIfNeeded();
  await page.locator('.columns-chart > li').first().waitFor(slow);
  await unfold(page, 'fitson');
  await page.locator('#fitson tbody tr').first().waitFor(slow);
}

pageTest('what does not fit says what would; one click applies it, Undo takes it back', {}, async page => {
  await openCalculator(page);
  const before = await total(page);
  const start = await fragment(page);
  const remedy = page.locator('.remedy');
  await remedy.getByRole('button', { name: /^Apply/ }).waitFor(slow);
  assert.match(await remedy.innerText(), /What would make it fit: .+, then [\d.]+ GiB/);
  const promised = (await remedy.innerText()).match(/then ([\d.]+ GiB)/)[1];
  await remedy.getByRole('button', { name: /^Apply/ }).click();
  assert.equal(await total(page), promised);
  assert.match(await page.locator('.answer .verdict').innerText(), /^Fits/);
  assert.notEqual(await fragment(page), start);
  await page.getByRole('button', { name: 'Undo', exact: true }).first().click();
  assert.equal(await total(page), before);
  assert.equal(await fragment(page), start);
  await page.getByRole('button', { name: 'Redo', exact: true }).click();
  assert.equal(await total(page), promised);
});

pageTest('one way to fit for each price, and each gives what it promised', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.1-8b&gpu=rtx-4090&end');
  await page.getByRole('button', { name: 'Other ways' }).click(slow);
  const ways = page.locator('#advice .suggestions').first().locator('li');
  await ways.nth(2).waitFor(slow);
  assert.deepEqual(
    (await ways.locator('.what p:nth-child(2)').allInnerTexts()).map(text => text.trim()),
    [
      'Other rounding, or another optimizer.',
      'Trains adapters in place of the model.',
      'Takes more GPUs, or puts them to another use.',
    ],
  );
  const promised = (await ways.nth(1).locator('.figure').innerText()).trim();
  await ways.nth(1).getByRole('button').click();
  assert.equal(await total(page), promised);
  assert.match(await page.locator('.answer .verdict').innerText(), /^Fits/);
  assert.match(await fragment(page), /lora=16&quant=nf4_double/);
});

pageTest('advice: three questions, cheap changes first, and each gives what it promised', {}, async page => {
  await openCalculator(page, small);
  await advised(page);
  assert.equal(await page.locator('.questions li').count(), 3);
  const first = page.locator('.suggestion').first();
  const promised = (await first.locator('.saves').innerText()).match(/then ([\d.]+ [GM]iB)/)[1];
  await first.getByRole('button').click();
  assert.equal(await total(page), promised);
  await page.waitForFunction(() => {
    let at = document.activeElement;
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at.textContent.trim() === 'Undo';
  });
  await page.keyboard.press('Enter');
  assert.match(await fragment(page), /^v=1&model=gpt2&gpu=rtx-4090&mbs=8&end$/);
});

pageTest('Ctrl+Z undoes outside fields, and leaves fields to the browser', {}, async page => {
  await openCalculator(page);
  const start = await total(page);
  await page.getByLabel('Precision', { exact: true }).selectOption('bf16');
  const changed = await total(page);
  assert.notEqual(changed, start);
  await page.locator('#answer h2').click();
  await page.keyboard.press('Control+z');
  assert.equal(await total(page), start);
  await page.keyboard.press('Control+Shift+z');
  assert.equal(await total(page), changed);
  await page.getByLabel('Micro-batch size', { exact: true }).focus();
  await page.keyboard.press('Control+z');
  assert.equal(await total(page), changed);
});

pageTest('a slider doubles its field, by keyboard too', {}, async page => {
  await openCalculator(page);
  const slider = page.getByRole('slider', { name: 'Sequence length, doubling' });
  assert.equal(await slider.getAttribute('aria-valuetext'), '4,096 tokens');
  await slider.press('ArrowRight');
  await settled(page);
  assert.equal(await page.getByLabel('Sequence length', { exact: true }).inputValue(), '8,192');
  assert.match(await fragment(page), /&seq=8192&end$/);
  await page.getByLabel('Sequence length', { exact: true }).fill('3000');
  await settled(page);
  assert.equal(await slider.getAttribute('aria-valuetext'), '3,000 tokens');
});

pageTest('advice: written out to the byte, what a change saves stands beside its button', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.1-405b&gpu=h100-sxm&recipe=torchtitan-llama3-405b&view.units=bytes&end');
  await page.locator('#advice .suggestion').first().waitFor();
  const over = await page
    .locator('#advice .suggestion')
    .evaluateAll(all =>
      all.map(
        one =>
          one.querySelector('.figure').getBoundingClientRect().right -
          one.querySelector('.button').getBoundingClientRect().left,
      ),
    );
  assert.ok(Math.max(...over) < 0, over.join(' '));
});

pageTest('sweeps: a column goes there, by keyboard too', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.2-1b&gpu=rtx-4090&precision=bf16&end');
  await explored(page);
  assert.equal(await page.locator('.columns-chart .column-button').count(), 9);
  assert.equal(await page.locator('.columns-chart .present').count(), 1);
  assert.match(
    await page.locator('#sweeps [role=status]').innerText(),
    /^(Tight at .+\. )?Stops fitting at [\d,]+ tokens\.$/,
  );
  const column = page.getByRole('button', { name: /^8,192 tokens: / });
  const promised = (await column.getAttribute('aria-label')).match(/: ([\d.]+ GiB)/)[1];
  await column.focus();
  await page.keyboard.press('Enter');
  assert.equal(await total(page), promised);
  assert.match(await fragment(page), /&seq=8192/);
  await page.getByRole('radio', { name: 'Model sizes' }).check({ force: true });
  await page.getByRole('button', { name: /^Llama 3.1 405B: [\d,.]+ [GT]iB/ }).waitFor(slow);
  await page.getByText('As a table', { exact: true }).click();
  assert.ok((await page.locator('.astable tbody tr').count()) >= 9);
});

pageTest('fits on: sorted by margin, and a GPU can be taken', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.2-1b&gpu=rtx-4090&precision=bf16&end');
  await explored(page);
  const margins = await page.locator('#fitson tbody .left').allInnerTexts();
  const spare = margins.filter(text => text.endsWith('to spare')).map(text => Number.parseFloat(text.replace(',', '')));
  assert.deepEqual(
    spare,
    [...spare].sort((a, b) => a - b),
  );
  await page.getByRole('button', { name: /^Show all \d+$/ }).click();
  await page.locator('#fitson tbody tr').nth(60).waitFor();
  await page.getByRole('button', { name: 'Use: H100 SXM5 80GB', exact: true }).click();
  assert.match(await fragment(page), /gpu=h100-sxm/);
});

pageTest('plan: layouts of 64 GPUs; a wrong number is named', {}, async page => {
  await openCalculator(page);
  await advised(page);
  await unfold(page, 'plan');
  const field = page.getByLabel('GPUs', { exact: true });
  await field.fill('many');
  await page.getByRole('button', { name: 'Find layouts' }).click();
  await page.locator('#plan-message').filter({ hasText: /\S/ }).waitFor();
  await field.fill('64');
  await page.getByRole('button', { name: 'Find layouts' }).click();
  // Those of 8 GPUs, found unasked, stand until these are here.
  await page.locator('#plan .counted', { hasText: 'of 64 GPUs' }).waitFor(slow);
  const first = page.locator('.layouts li').first();
  const promised = await first.locator('.figure').innerText();
  await first.getByRole('button').click();
  assert.equal(await total(page), promised);
  assert.match(await page.locator('.answer').innerText(), /On each of 64 GPUs/);
});

pageTest('layouts that are still looked for are those of no other configuration', {}, async page => {
  await openCalculator(page);
  await advised(page);
  await unfold(page, 'plan');
  await page.getByLabel('GPUs', { exact: true }).fill('64');
  const button = page.locator('#plan button[type=submit]');
  await button.evaluate(one => {
    one.click();
    document.querySelector('trainmem-calculator').calculator.set('/recipe/gradient_accumulation_steps', 128);
  });
  await settled(page);
  // One sequence a step becomes one for every GPU; 128 are the reader's own.
  const counted = page.locator('#plan .counted', { hasText: 'global batch' });
  await counted.waitFor(slow);
  assert.match(await counted.innerText(), /of 64 GPUs fits? with a global batch of 128 sequences/);
  assert.equal(await button.innerText(), 'Find layouts');
});

pageTest('an opened plan is of the GPUs that there are, unasked, and follows the fields', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.1-70b&gpu=h100-sxm&fw=torchtitan&dp=64&dp_kind=fsdp&end');
  await advised(page);
  await unfold(page, 'plan');
  const counted = page.locator('#plan .counted').first();
  await counted.filter({ hasText: /of 64 GPUs fit\s+with\s+a\s+global batch of 64 sequences/ }).waitFor(slow);
  assert.match(await page.locator('#plan').innerText(), /pipeline bubble/);
  await page.getByLabel('Accumulation steps', { exact: true }).fill('4');
  await counted.filter({ hasText: /of 64 GPUs fit\s+with\s+a\s+global batch of 256 sequences/ }).waitFor(slow);
});

pageTest(
  'every column of every sweep is wide enough for a finger',
  { viewport: { width: 320, height: 700 } },
  async page => {
    await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&dp=600&seq=5000&end');
    await explored(page);
    for (const name of ['Sequence lengths', 'Micro-batch sizes', 'Numbers of GPUs', 'Model sizes']) {
      await page.getByRole('radio', { name }).check({ force: true });
      const chart = page.getByRole('list', { name, exact: true });
      await chart.waitFor(slow);
      const widths = await chart
        .locator('.column-button')
        .evaluateAll(all => all.map(one => one.getBoundingClientRect().width));
      assert.ok(widths.length >= 9 && Math.min(...widths) >= 24, `${name}: ${widths}`);
    }
  },
);

pageTest('what cannot be computed is not called too large', {}, async page => {
  await openCalculator(page, 'v=1&model=gpt2&gpu=h100-sxm&seq=512&end');
  await page.locator('#sweeps').scrollIntoViewIfNeeded();
  const said = page.locator('#sweeps [role=status]', { hasText: /tokens: .*1024/ });
  await said.waitFor(slow);
  assert.doesNotMatch(await said.innerText(), /fitting/);
});

pageTest('compare: A is pinned, B follows the fields, both stand in the link and survive a reload', {}, async page => {
  await openCalculator(page);
  await advised(page);
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.locator('#compare').waitFor();
  assert.match(await page.locator('#compare .sets').innerText(), /^B is A/);
  assert.equal(await page.locator('#compare tr').count(), 0, 'nothing differs yet');
  await page.getByLabel('Sequence length', { exact: true }).fill('8k');
  await settled(page);
  const parts = page.locator('#compare tr:has(.swatch)');
  assert.ok(!(await parts.allInnerTexts()).some(text => /same/.test(text)));
  assert.match(await page.locator('#compare .sets').innerText(), /^The same in both: .*optimizer states/);
  assert.match(await page.locator('#compare .sets').innerText(), /Sequence length 4,096 → 8,192/);
  assert.equal(await fragment(page), 'v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.seq=8192&end');
  const shown = await page.locator('#compare tbody').innerText();
  await page.reload();
  await page.locator('#compare').waitFor(slow);
  assert.equal(await page.locator('#compare tbody').innerText(), shown);
  await page.getByRole('button', { name: 'Swap' }).click();
  assert.equal(await fragment(page), 'v=1&a.model=llama2-7b&a.gpu=h100-sxm&a.seq=8192&b.seq=4096&end');
  await page.getByRole('button', { name: 'Stop comparing' }).click();
  assert.equal(await fragment(page), 'v=1&model=llama2-7b&gpu=h100-sxm&end');
  await page.goBack();
  await page.locator('#compare').waitFor();
});

pageTest('what is pinned is what is on the screen, though the fields hold something else', {}, async page => {
  await openCalculator(page);
  const shown = await total(page);
  await page.getByLabel('Tensor parallel', { exact: true }).fill('3');
  await page.getByText('This configuration cannot be computed.').waitFor();
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.locator('#compare').waitFor();
  await page.getByLabel('Tensor parallel', { exact: true }).fill('2');
  await settled(page);
  assert.match(await page.locator('#compare .sets').innerText(), /Tensor parallel 1 → 2/);
  assert.equal(await fragment(page), 'v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.tp=2&end');
  assert.equal(await page.locator('#compare tbody td').first().innerText(), shown);
});

pageTest('numbers of GPUs are those of the whole run', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.1-70b&gpu=h100-sxm&recipe=torchtitan-llama3-70b&tp=8&dp=8&end');
  await explored(page);
  await page.getByRole('radio', { name: 'Numbers of GPUs' }).check({ force: true });
  const present = page.locator('.columns-chart .present button');
  await page.getByRole('button', { name: /^64 GPUs: .+as it is now/ }).waitFor(slow);
  assert.equal((await present.innerText()).trim(), '64');
  assert.match(await page.locator('.answer').innerText(), /On each of 64 GPUs/);
});

pageTest('an edit does not wait for advice', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.1-70b&gpu=h100-sxm&recipe=torchtitan-llama3-8b&end');
  await page.locator('#advice').waitFor(slow);
  const field = page.getByLabel('Sequence length', { exact: true });
  for (const text of ['2k', '4k', '16k']) {
    const before = await total(page);
    await field.fill(text);
    assert.notEqual(await total(page), before);
  }
  await advised(page);
  assert.equal(await page.locator('#advice').getAttribute('aria-busy'), 'false');
});

const looks = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  'phone, light': { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  'narrow, forced colours': { forcedColors: 'active', viewport: { width: 320, height: 800 } },
};
for (const [look, options] of Object.entries(looks)) {
  pageTest(`axe finds nothing in the explore part: ${look}`, { reducedMotion: 'reduce', ...options }, async page => {
    await openCalculator(page);
    await explored(page);
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByLabel('Micro-batch size', { exact: true }).fill('2');
    await page.getByText('As a table', { exact: true }).click();
    await unfold(page, 'plan');
    await page.getByRole('button', { name: 'Find layouts' }).click();
    await page.locator('#plan p[role=status]').last().waitFor(slow);
    await page.locator('#compare').waitFor();
    await advised(page);
    const { violations } = await new AxeBuilder({ page }).withTags(tags).analyze();
    assert.deepEqual(
      violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.target.flat().join(' ')).join('; ')}`),
      [],
    );
    const width = page.viewportSize().width;
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    if (!options.hasTouch) return;
    const low = await page.locator('trainmem-explore, trainmem-compare').evaluateAll(elements =>
      elements.flatMap(element =>
        [...element.shadowRoot.querySelectorAll('button, summary, .axes span')]
          .filter(one => one.getClientRects().length > 0)
          .map(one => [one.className || one.textContent.trim(), one.getBoundingClientRect().height])
          .filter(([, height]) => height < 44),
      ),
    );
    assert.deepEqual(low, []);
  });
}

pageTest('another origin has no worker: the page itself answers', {}, async page => {
  await page.addInitScript(() => {
    window.Worker = class {
      constructor() {
        throw new DOMException('no', 'SecurityError');
      }
    };
  });
  await page.goto(`${origin()}/#${small}`);
  await advised(page);
  assert.ok((await page.locator('.suggestion').count()) > 2);
  await pick(page, 'gpu', 'h100 sxm', 'H100 SXM5');
  await advised(page);
});
