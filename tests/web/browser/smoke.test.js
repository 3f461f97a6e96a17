// The calculator as a reader uses it: open, pick, edit, share, go back, reload.
import assert from 'node:assert/strict';
import { fragment, headline, live, openCalculator, origin, pageTest, pick, settled, total } from './chromium.js';

pageTest('the page answers at once', {}, async page => {
  await openCalculator(page);
  assert.match(await headline(page), /^Llama 2 7B needs [\d.,]+ GiB of [\d.]+ GiB$/);
  await page.waitForFunction(() => /^Llama 2 7B needs/.test(document.title));
  assert.match(await fragment(page), /^v=1&model=llama2-7b&gpu=h100-sxm&end$/);
});

pageTest('a first visit is complete without the engine, and the engine says the same', {}, async page => {
  let release;
  const released = new Promise(resolve => {
    release = resolve;
  });
  await page.route('**/*.wasm', async route => {
    await released;
    await route.continue();
  });
  await openCalculator(page);
  const words = async () => [
    await page.locator('.answer').evaluate(answer => answer.innerText),
    ...(await page.locator('.picked').allInnerTexts()),
    await page.locator('#rows').innerText(),
    await page
      .getByRole('region', { name: /[Tt]imeline|[Tt]ime/ })
      .first()
      .innerText(),
  ];
  await page.locator('.remedy strong').waitFor();
  const before = await words();
  assert.match(before[0], /^Llama 2 7B needs [\d.]+ GiB of [\d.]+ GiB/);

  const length = page.getByLabel('Sequence length', { exact: true });
  const recorded = await length.inputValue();
  await length.fill('1k');
  await page.locator('.answer').getByText('Fetching the engine').waitFor();
  release();
  assert.notEqual(await total(page), before[0].match(/[\d.]+ GiB/)[0]);
  assert.equal(await page.locator('.answer').getByText('Fetching the engine').count(), 0);
  await length.fill(recorded);
  await length.blur();
  await settled(page);
  await page.locator('.remedy strong').waitFor();
  assert.deepEqual(await words(), before);
});

pageTest('Llama 2 7B and GPT-3 175B can be picked, and show where memory goes', {}, async page => {
  await openCalculator(page);
  await pick(page, 'model', '175b gpt', 'GPT-3 175B');
  assert.match(await headline(page), /^GPT-3 175B needs [\d,]+ GiB of/);
  const large = await total(page);
  await pick(page, 'model', 'llama 2 7b', 'Llama 2 7B');
  assert.match(await headline(page), /^Llama 2 7B needs [\d.]+ GiB of/);
  assert.notEqual(await total(page), large);
  assert.ok((await page.locator('.track .segment').count()) >= 4);
  assert.ok((await page.locator('.legend li').count()) >= 4);
  await pick(page, 'gpu', 'h200 sxm', 'H200');
  assert.match(await fragment(page), /gpu=h200-sxm/);
});

pageTest('an edit is live, reaches the link, and survives a reload', {}, async page => {
  await openCalculator(page);
  const before = await total(page);
  await page.getByLabel('Sequence length', { exact: true }).fill('8k');
  assert.notEqual(await total(page), before);
  const after = await total(page);
  assert.match(await fragment(page), /&seq=8192&end$/);
  const field = page.getByLabel('Sequence length', { exact: true });
  await field.blur();
  // Written out after the next paint.
  for (let turn = 0; turn < 100 && (await field.inputValue()) === '8k'; ++turn) await page.waitForTimeout(20);
  assert.equal(await field.inputValue(), '8,192');
  await page.reload();
  await page.locator(live).waitFor();
  assert.equal(await total(page), after);
  assert.equal(await page.getByLabel('Sequence length', { exact: true }).inputValue(), '8,192');
});

pageTest('typing leaves the history alone, a preset adds one entry, and Back returns', {}, async page => {
  await openCalculator(page);
  const start = await page.evaluate(() => history.length);
  const field = page.getByLabel('Micro-batch size', { exact: true });
  for (const text of ['2', '3', '4', '2*4']) await field.fill(text);
  await field.press('ArrowUp');
  assert.equal(await field.inputValue(), '9');
  await page.waitForTimeout(250);
  assert.equal(await page.evaluate(() => history.length), start);
  const before = await total(page);
  await pick(page, 'model', 'mistral 7b', 'Mistral 7B');
  assert.equal(await page.evaluate(() => history.length), start + 1);
  assert.match(await headline(page), /^Mistral 7B/);
  await page.goBack();
  await page.locator('.headline').filter({ hasText: 'Llama 2 7B' }).waitFor();
  assert.equal(await total(page), before);
  assert.equal(await page.getByLabel('Micro-batch size', { exact: true }).inputValue(), '9');
  await page.goForward();
  await page.locator('.headline').filter({ hasText: 'Mistral 7B' }).waitFor();
});

pageTest('arrow keys step: powers of two double, Shift goes further', {}, async page => {
  await openCalculator(page);
  const field = page.getByLabel('Sequence length', { exact: true });
  await field.press('ArrowUp');
  assert.equal(await field.inputValue(), '8,192');
  await field.press('ArrowDown');
  await field.press('ArrowDown');
  assert.equal(await field.inputValue(), '2,048');
  const batch = page.getByLabel('Micro-batch size', { exact: true });
  await batch.press('Shift+ArrowUp');
  assert.equal(await batch.inputValue(), '11');
});

pageTest('a row opens to its formula, its reason and its source, and the parts sum to the total', {}, async page => {
  await openCalculator(page);
  const row = page.locator('tr.row').first();
  await row.getByRole('button').click();
  const detail = page.locator('.explanation').first();
  assert.match(await detail.innerText(), /Why[\s\S]+Bytes[\s\S]+= [\d,]+ bytes[\s\S]+Tensor[\s\S]+Source/);
  const formula = (await detail.locator('code').first().innerText()).replace(/bytes?/g, '').replaceAll('×', '*');
  const claimed = Number((await detail.innerText()).match(/= ([\d,]+) bytes/)[1].replaceAll(',', ''));
  assert.match(formula, /^[\d\s*.+/()]+$/);
  assert.equal(new Function(`return ${formula}`)(), claimed);
  const exact = async locator => Number((await locator.getAttribute('title')).replace(/[^\d]/g, ''));
  let sum = 0;
  for (const part of await page.locator('tr.component .figure[title]').all()) sum += await exact(part);
  assert.equal(sum, await exact(page.locator('.rows tfoot .figure[title]')));
});

pageTest('units change the words and not the bytes, and stand in the link', {}, async page => {
  await openCalculator(page);
  const exact = await page.locator('.total').getAttribute('title');
  await page.getByRole('radio', { name: 'GB', exact: true }).check({ force: true });
  assert.match(await headline(page), /needs [\d.]+ GB of [\d.]+ GB/);
  assert.equal(await page.locator('.total').getAttribute('title'), exact);
  assert.match(await fragment(page), /&view\.units=GB&end$/);
  await page.reload();
  await page.locator(live).waitFor();
  assert.match(await total(page), / GB$/);
});

pageTest('Back also returns to the units of that moment', {}, async page => {
  await openCalculator(page);
  await pick(page, 'gpu', 'h200 sxm', 'H200');
  await settled(page);
  await page.getByRole('radio', { name: 'GB', exact: true }).check({ force: true });
  await fragment(page);
  await page.goBack();
  await page.locator('.total').filter({ hasText: / GiB$/ }).waitFor();
  await page.goForward();
  await page.locator('.total').filter({ hasText: / GB$/ }).waitFor();
});

pageTest(
  'copy link gives the address of this very configuration',
  { permissions: ['clipboard-read', 'clipboard-write'] },
  async page => {
    await openCalculator(page);
    await page.getByLabel('Sequence length', { exact: true }).fill('2^11');
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByRole('button', { name: 'Copied', exact: true }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, `${origin()}/#v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&end`);
  },
);

pageTest('a pipelined recipe shows every stage', {}, async page => {
  await openCalculator(page);
  await pick(page, 'recipe', 'pipeline 16', 'GPT-3 175B');
  assert.match(await headline(page), /^GPT-3 175B needs/);
  assert.equal(await page.locator('.stages li').count(), 16);
  assert.equal(await page.locator('.stages li.worst').count(), 1);
});

pageTest('the timeline can be read by keyboard', {}, async page => {
  await openCalculator(page);
  const scrubber = page.getByRole('slider', { name: 'Moment of the step' });
  await scrubber.focus();
  await scrubber.press('Home');
  await settled(page);
  assert.match(await scrubber.getAttribute('aria-valuetext'), /^Initialise/);
  await scrubber.press('ArrowRight');
  await scrubber.press('End');
  await settled(page);
  assert.match(await scrubber.getAttribute('aria-valuetext'), /^Optimizer step.+GiB$/);
});

pageTest('every field can be reached: More has a search', {}, async page => {
  await openCalculator(page);
  await page.getByText('More', { exact: true }).click();
  await page.getByLabel('Find a field', { exact: true }).fill('hidden size');
  const field = page.getByLabel('Hidden size', { exact: true });
  await field.fill('2048');
  assert.match(await headline(page), /^Llama 2 7B \(edited\) needs/);
  await page.getByRole('button', { name: /1 change, reset/ }).click();
  assert.match(await headline(page), /^Llama 2 7B needs/);
});

pageTest('the total stays in sight while the reader scrolls', { viewport: { width: 390, height: 844 } }, async page => {
  await openCalculator(page);
  const line = page.locator('.slim');
  assert.equal(await line.count(), 0);
  await page.getByLabel('Tensor parallel', { exact: true }).scrollIntoViewIfNeeded();
  await line.waitFor();
  assert.ok((await line.boundingBox()).y >= 0);
});

pageTest('dark and light can be switched and are remembered only when chosen', { colorScheme: 'light' }, async page => {
  await openCalculator(page);
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.getByRole('button', { name: 'Dark colours' }).click();
  assert.notEqual(await paper(), light);
  await page.reload();
  await page.locator(live).waitFor();
  assert.notEqual(await paper(), light);
});

pageTest('keys that come before a search or an answer is drawn count from what was typed', {}, async page => {
  await openCalculator(page);
  const [model, tokens] = await page.locator('trainmem-calculator').evaluate(async element => {
    const find = selector => element.shadowRoot.querySelector(selector);
    const type = (box, text, ...keys) => {
      box.value = text;
      box.dispatchEvent(new Event('input', { bubbles: true }));
      for (const key of keys) box.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    };
    find('#picker-model').click();
    await element.updateComplete;
    type(find('#search-model'), 'mistral 7b v0.3', 'Enter');
    await element.updateComplete;
    const model = find('#picker-model .picked').textContent;
    type(find('#field-recipe-sequence_length'), '2k', 'ArrowUp', 'ArrowUp');
    await element.updateComplete;
    return [model, find('#field-recipe-sequence_length').value];
  });
  assert.equal(model, 'Mistral 7B v0.3');
  assert.equal(tokens, '8,192');
});

pageTest('an answer is drawn in a task of its own: a key finds its turn before it', {}, async page => {
  await openCalculator(page);
  const [atOnce, drawn] = await page.locator('trainmem-calculator').evaluate(async element => {
    const shown = () => element.shadowRoot.querySelector('.total').textContent;
    const before = shown();
    const answered = new Promise(resolve =>
      element.addEventListener('trainmem-change', ({ detail }) => detail.link.includes('seq=8192') && resolve()),
    );
    element.calculator.set('/recipe/sequence_length', 8192);
    await answered;
    for (let turn = 0; turn < 20; turn++) await null;
    const atOnce = shown() !== before;
    await element.updateComplete;
    return [atOnce, shown() !== before];
  });
  assert.deepEqual([atOnce, drawn], [false, true]);
});
