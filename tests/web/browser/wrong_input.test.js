// Broken links, bad texts in fields, sizes that do not divide, an engine that does not come: each says what is wrong,
// and the last good answer stays.
import assert from 'node:assert/strict';
import {
  AxeBuilder,
  fragment,
  headline,
  openCalculator,
  origin,
  pageTest,
  patient,
  settled,
  total,
} from './chromium.js';

pageTest('a link with unknown parts names each of them and applies the rest', {}, async page => {
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&frobnicate=3&tp=x&end');
  const notice = page.getByRole('status').filter({ hasText: 'could not be used' });
  const text = await notice.innerText();
  assert.match(text, /2 parts of this link could not be used/);
  assert.match(text, /frobnicate/);
  assert.equal(await page.getByLabel('Sequence length', { exact: true }).inputValue(), '2,048');
  await notice.getByRole('button', { name: 'Dismiss' }).click();
  await notice.waitFor({ state: 'detached' });
});

pageTest('settings that the page does not have are named, whatever else the link says', {}, async page => {
  const notice = page.getByRole('status').filter({ hasText: 'could not be used' });
  await openCalculator(page, 'view.colour=red');
  assert.match(await notice.innerText(), /One part of this link .*"view\.colour=red" is no setting of the page/s);
  await openCalculator(page, 'v=1&model=gpt2&gpu=rtx-4090&view.units=GB&view.units=TB&sqe=512&end');
  await notice.filter({ hasText: /2 parts of this link .*"view\.units=TB"/s }).waitFor();
  assert.match(await total(page), / GB$/);
  await notice.getByRole('button', { name: 'seq', exact: true }).click();
  await notice.filter({ hasText: /One part of this link .*"view\.units=TB"/s }).waitFor();
});

pageTest('a link that cannot be computed still has all fields, and leads to the one in question', {}, async page => {
  await openCalculator(page, 'v=1&model=llama3.1-405b&gpu=h100-sxm&tp=8&pp=16&end', '.notice.bad');
  await page.locator('details.more').waitFor();
  const notice = page.locator('.notice.bad');
  await notice.getByRole('button', { name: 'Go to the field' }).last().click();
  await page.waitForFunction(() => {
    const { activeElement } = document.querySelector('trainmem-calculator').shadowRoot;
    return activeElement?.id === 'field-recipe-pipeline_parallel';
  });
});

pageTest('a misspelt part of a link is mended with a click, one after the other', {}, async page => {
  await openCalculator(page, 'v=1&model=gpt2&gpu=rtx4090&sqe=512&opt=sdg&end');
  const notice = page.locator('.notice');
  assert.match(await notice.innerText(), /3 parts of this link could not be used/);
  await notice.getByRole('button', { name: 'rtx-4090', exact: true }).click();
  await notice.filter({ hasText: /2 parts of this link could not be used/ }).waitFor();
  await notice.getByRole('button', { name: 'seq', exact: true }).click();
  await notice.getByRole('button', { name: 'sgd', exact: true }).click();
  await notice.waitFor({ state: 'detached' });
  assert.equal(await fragment(page), 'v=1&model=gpt2&gpu=rtx-4090&seq=512&opt=sgd&end');
});

pageTest('a link that was cut off says so at every length, or opens the same configuration', {}, async page => {
  const link = 'v=1&model=gpt2&gpu=rtx-4090&seq=512&recompute=full&end';
  await openCalculator(page, link);
  const whole = await headline(page);
  for (let length = 1; length < link.length; length += 3) {
    await page.evaluate(
      cut =>
        new Promise(resolve => {
          addEventListener('hashchange', () => setTimeout(resolve), { once: true });
          location.hash = cut;
        }),
      link.slice(0, length),
    );
    await settled(page);
    const notices = await page
      .getByRole('status')
      .filter({ hasText: /this link/i })
      .count();
    assert.ok(notices > 0 || (await headline(page)) === whole, `cut at ${length}: ${link.slice(0, length)}`);
  }
});

pageTest('a hostile link shows as text and does nothing', {}, async page => {
  await openCalculator(page, 'v=1&model=%3Cimg%20src=x%20onerror=alert(1)%3E&__proto__=1&constructor=2&end');
  assert.match(await page.getByRole('status').first().innerText(), /could not be used/);
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.evaluate(() => ({}).polluted), undefined);
});

pageTest('text that is no number keeps the last good value, with a message at the field', {}, async page => {
  await openCalculator(page);
  const field = page.getByLabel('Sequence length', { exact: true });
  await field.fill('2048');
  const before = await total(page);
  await field.fill('2048q');
  await settled(page);
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  const described = await field.getAttribute('aria-describedby');
  const message = await page.locator(`[id="${described.split(' ').at(-1)}"]`).innerText();
  assert.match(message, /"q" is not a suffix: k, M, B, .+ are\. Still computing with 2,048/);
  assert.equal(await total(page), before);
  await field.fill('4096');
  await settled(page);
  assert.equal(await field.getAttribute('aria-invalid'), null);
  assert.notEqual(await total(page), before);
});

pageTest('a value out of range names the range', {}, async page => {
  await openCalculator(page);
  const field = page.getByLabel('Micro-batch size', { exact: true });
  await field.fill('0');
  assert.match(await page.locator('.message').innerText(), /The smallest value is 1/);
  await field.press('Escape');
  await settled(page);
  assert.equal(await field.inputValue(), '1');
});

pageTest(
  'sizes that do not divide: the issue stands in a summary and at its field, the last answer stays',
  {},
  async page => {
    await openCalculator(page);
    const before = await total(page);
    await page.getByLabel('Tensor parallel', { exact: true }).fill('3');
    const summary = page.getByRole('status').filter({ hasText: 'cannot be computed' });
    await summary.waitFor();
    assert.match(await fragment(page), /&tp=3&end$/);
    assert.equal(await total(page), before);
    assert.equal(await page.getByLabel('Tensor parallel', { exact: true }).getAttribute('aria-invalid'), 'true');
    await summary.getByRole('button', { name: 'Go to the field' }).first().click();
    assert.equal(
      await page
        .getByLabel('Tensor parallel', { exact: true })
        .evaluate(element => element.getRootNode().activeElement === element),
      true,
    );
    await page.getByLabel('Tensor parallel', { exact: true }).fill('1');
    await settled(page);
    assert.equal(await summary.count(), 0);
  },
);

pageTest(
  'when the engine cannot be loaded the page says so, and tries again on request',
  { tolerate: /Failed to load resource/ },
  async page => {
    let refuse = true;
    await patient(page);
    await page.route('**/*.wasm', route => (refuse ? route.abort() : route.continue()));
    await openCalculator(page);
    const alert = page.getByRole('alert');
    assert.equal(await alert.count(), 0, 'what is recorded needs no engine');
    await page.mouse.move(100, 100);
    assert.match(await alert.innerText(), /could not be loaded, so nothing else can be computed/);
    assert.equal(await page.getByRole('link', { name: 'FSDP on 8 GPUs' }).isVisible(), false, 'an answer stands there');
    refuse = false;
    await alert.getByRole('button', { name: 'Try again' }).click();
    const before = await total(page);
    await page.getByLabel('Sequence length', { exact: true }).fill('1k');
    assert.notEqual(await total(page), before);
    assert.equal(await alert.count(), 0);
  },
);

pageTest('a name near no preset is answered in words for the page, not for the command', {}, async page => {
  await openCalculator(page, 'v=1&model=zzzzqqqq&gpu=h100-sxm&end');
  const notice = await page.locator('.notices [role=status]').innerText();
  assert.match(notice, /no model preset "zzzzqqqq"\. No name in the list of model presets is near\./);
  assert.doesNotMatch(notice, /`/);
});

pageTest(
  'without the parts that follow the answer the answer stands, and says so; they come when asked again',
  { tolerate: /Failed to load resource/ },
  async page => {
    let refuse = true;
    await page.route('**/parts-*.js', route => (refuse ? route.abort() : route.continue()));
    await openCalculator(page);
    const notice = page.locator('.notices [role=status]');
    assert.match(await notice.innerText(), /could not be fetched/);
    refuse = false;
    await notice.getByRole('button', { name: 'Try again' }).click();
    await page.getByLabel('Sequence length', { exact: true }).waitFor();
    await page.locator('#rows').waitFor();
    assert.equal(await notice.count(), 0);
  },
);

/** The engine traps in as many of the coming calls as `traps` says; `instances` counts those that were made. */
const trapping = page =>
  page.addInitScript(() => {
    Object.assign(globalThis, { traps: 0, instances: 0 });
    const instantiate = WebAssembly.instantiate;
    WebAssembly.instantiate = async (module, imports) => {
      const { exports } = await instantiate(module, imports);
      globalThis.instances += 1;
      const guarded = value =>
        typeof value !== 'function'
          ? value
          : (...words) => {
              if (globalThis.traps > 0) {
                globalThis.traps -= 1;
                throw new WebAssembly.RuntimeError('unreachable');
              }
              return value(...words);
            };
      return { exports: Object.fromEntries(Object.entries(exports).map(([name, value]) => [name, guarded(value)])) };
    };
  });

const setTraps = (page, traps) => page.evaluate(count => Object.assign(globalThis, { traps: count }).traps, traps);

pageTest('an engine that traps once is replaced by a fresh instance, and the edit is answered', {}, async page => {
  await trapping(page);
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&end');
  const before = await total(page);
  const made = await page.evaluate(() => globalThis.instances);
  await setTraps(page, 1);
  await page.getByLabel('Sequence length', { exact: true }).fill('1k');
  await page.waitForFunction(count => globalThis.instances > count, made);
  await settled(page);
  assert.notEqual(await total(page), before);
  assert.equal(await page.getByRole('alert').count(), 0);
  assert.match(await fragment(page), /seq=1024&end$/);
});

pageTest(
  'where its fresh instance traps too, the last good answer stays, and the next edit goes on',
  {},
  async page => {
    await trapping(page);
    await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&end');
    const before = await total(page);
    await setTraps(page, 2);
    const field = page.getByLabel('Sequence length', { exact: true });
    await field.fill('1k');
    assert.match(
      await page.getByRole('alert').innerText(),
      /engine stopped on this configuration and was started again/,
    );
    assert.equal(await total(page), before);
    await setTraps(page, 0);
    await field.fill('512');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    assert.notEqual(await total(page), before);
  },
);

pageTest('a damaged engine is a message, not a blank page', {}, async page => {
  await page.route('**/*.wasm', route =>
    route.fulfill({ status: 200, contentType: 'application/wasm', body: Buffer.from('\0asm\x01\0\0\0damaged') }),
  );
  await openCalculator(page);
  await page.mouse.move(100, 100);
  assert.match(await page.getByRole('alert').innerText(), /could not be loaded/);
});

pageTest('opened with a link and without its engine, the page has exact numbers', {}, async page => {
  await page.route('**/*.wasm', route =>
    route.fulfill({ status: 200, contentType: 'application/wasm', body: Buffer.from('\0asm\x01\0\0\0damaged') }),
  );
  await page.goto(`${origin()}/#v=1&model=mistral-7b-v0.3&gpu=h100-sxm&end`);
  await page.getByRole('alert').waitFor();
  const known = page.getByRole('link', { name: 'FSDP on 8 GPUs' });
  assert.ok(await known.isVisible());
  assert.ok((await known.boundingBox()).y < page.viewportSize().height);
});

pageTest(
  'opened with a link and without its script, the page has exact numbers',
  { tolerate: /Failed to load resource|Failed to fetch|ERR_FAILED/ },
  async page => {
    await page.route('**/trainmem-calculator.js', route => route.abort());
    await page.goto(`${origin()}/#v=1&model=mistral-7b-v0.3&gpu=h100-sxm&end`);
    const known = page.getByRole('link', { name: 'FSDP on 8 GPUs' });
    await known.waitFor({ state: 'visible' });
    assert.ok((await known.boundingBox()).y < page.viewportSize().height);
  },
);

pageTest(
  'without JavaScript the page still says what it is, with exact numbers',
  { javaScriptEnabled: false },
  async page => {
    await page.goto(`${origin()}/`);
    await page.waitForTimeout(1200);
    const text = await page.locator('trainmem-calculator').innerText();
    assert.match(text, /needs JavaScript/);
    assert.match(text, /Llama 2 7B[\s\S]+GiB/);
  },
);

pageTest('a refused configuration leads on with one click, and Undo takes it back', {}, async page => {
  const link = 'v=1&model=gpt2&gpu=h100-sxm&recipe=megatron-gpt3-175b&end';
  await page.goto(`${origin()}/#${link}`);
  const ways = page.locator('trainmem-ways-on button');
  await ways.first().waitFor();
  assert.match(await ways.nth(1).getAttribute('aria-label'), /GPT-3 175B, for which this recipe was written/);
  const violations = (await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id);
  assert.deepEqual(violations, []);
  await ways.first().click();
  assert.match(await headline(page), /GPT-2 .* needs/);
  assert.equal(await page.getByText('cannot be computed').count(), 0);
  assert.notEqual(await fragment(page), link);
  await page.locator('.notice').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('This configuration cannot be computed.').waitFor();
  assert.equal(await fragment(page), link);
});
