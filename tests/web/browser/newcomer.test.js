// Newcomers with a task: nobody has told them the page's words, and each step must lead to the next.
import assert from 'node:assert/strict';
import { fragment, headline, openCalculator, origin, pageTest, pick, settled, total, unfold } from './chromium.js';

const slow = { timeout: 60_000 };
const picked = async (page, section) => {
  await settled(page);
  return page.locator(`#picker-${section} .picked`).innerText();
};

pageTest('one 24 GB card and an 8B model: found by its memory, and two clicks later it fits', {}, async page => {
  await openCalculator(page);
  await pick(page, 'gpu', '24 gb', 'GeForce RTX 4090');
  await pick(page, 'model', 'llama 3 8b', 'Llama 3 8B');
  const remedy = page.locator('.remedy');
  await remedy.locator('strong').waitFor(slow);
  assert.match(await remedy.innerText(), /QLoRA.+Recompute.+then [\d.]+ GiB/);
  await remedy.getByRole('button', { name: /^Apply/ }).click();
  await settled(page);
  assert.match(await page.locator('.answer .verdict').innerText(), /^Fits/);
  assert.match(await fragment(page), /&lora=16&.*quant/);
});

pageTest('what few changes cannot mend leads to the plan, with GPUs enough to hold the model', {}, async page => {
  await openCalculator(page, 'v=1&model=deepseek-v3&gpu=rtx-4090&end');
  await page.getByRole('button', { name: 'Plan for more GPUs' }).click(slow);
  await page.locator('#plan .unfold[aria-expanded=true]').waitFor();
  const tried = Number(await page.locator('#plan-gpus').inputValue());
  const [needed, usable] = (await headline(page))
    .match(/[\d.,]+(?= [GT]iB)/g)
    .map(text => Number(text.replace(',', '')));
  assert.ok(tried * usable >= needed && (tried / 2) * usable < needed, `${tried} GPUs for ${needed} in ${usable}`);
  await page.waitForFunction(
    () => document.querySelector('trainmem-calculator').shadowRoot.activeElement?.localName === 'trainmem-explore',
  );
});

pageTest('other ways than the one offered are one click away, even before their script has come', {}, async page => {
  let release;
  const released = new Promise(resolve => {
    release = resolve;
  });
  await page.route('**/parts-*.js', async route => {
    await released;
    await route.continue();
  });
  await page.goto(origin());
  await page.getByRole('button', { name: 'Other ways' }).click();
  assert.equal(await page.evaluate(() => customElements.get('trainmem-explore') === undefined), true);
  release();
  await page.locator('#advice .suggestion').first().waitFor(slow);
  const place = () => page.locator('#advice .unfold').evaluate(heading => heading.getBoundingClientRect().top);
  for (let tries = 0; tries < 50 && (await place()) > 400; tries++) await page.waitForTimeout(100);
  assert.ok((await place()) < 400, 'the panel is in view');
});

pageTest('a recipe brings its own model to a page nobody has touched, and gives it back', {}, async page => {
  await openCalculator(page);
  await pick(page, 'recipe', 'gpt-3', 'GPT-3 175B');
  await settled(page);
  assert.equal(await picked(page, 'model'), 'GPT-3 175B');
  assert.equal(await picked(page, 'gpu'), 'A100 SXM4 80GB');
  assert.match(await page.locator('.answer .verdict').innerText(), /^Fits/);
  await page.getByRole('button', { name: 'Keep Llama 2 7B on H100 SXM5 80GB' }).click();
  await settled(page);
  assert.equal(await picked(page, 'model'), 'Llama 2 7B');
  await pick(page, 'recipe', '', 'Defaults of transformers');
  assert.equal(await picked(page, 'recipe'), 'Defaults of transformers');
  assert.equal(await fragment(page), 'v=1&model=llama2-7b&gpu=h100-sxm&end');
});

pageTest('a pasted file says what the page would answer before it is used', {}, async page => {
  await openCalculator(page);
  await page.getByRole('button', { name: 'Import' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import' });
  await dialog.waitFor();
  const box = await dialog.getByRole('textbox').elementHandle();
  await page.waitForFunction(box => box.getRootNode().activeElement === box, box);
  await page.keyboard.insertText('{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}');
  await dialog.getByText('With it:').waitFor();
  assert.match(await dialog.innerText(), /Data parallelism\s+ZeRO-3/);
  const promised = (await dialog.innerText()).match(/With it: ([\d.]+ GiB)/)[1];
  await dialog.getByRole('button', { name: 'Use it' }).click();
  assert.equal(await total(page), promised);
});

pageTest(
  'by keyboard no field hides under the strip that explains it',
  { viewport: { width: 1280, height: 700 } },
  async page => {
    await openCalculator(page);
    await page.getByLabel('Framework', { exact: true }).focus();
    const hidden = [];
    for (let stop = 0; stop < 60; stop++) {
      const at = await page.locator('trainmem-calculator').evaluate(async element => {
        await element.updateComplete;
        const { activeElement } = element.shadowRoot;
        const strip = element.shadowRoot.querySelector('.strip').getBoundingClientRect();
        const inside = activeElement.closest('#knobs') !== null;
        return { inside, name: activeElement.id, under: activeElement.getBoundingClientRect().bottom - strip.top };
      });
      if (!at.inside) break;
      if (at.under > 0) hidden.push(at);
      await page.keyboard.press('Tab');
    }
    assert.deepEqual(hidden, []);
  },
);

for (const width of [1280, 390])
  pageTest(
    `numbers have room for all their digits, ${width} pixels wide`,
    { viewport: { width, height: 844 } },
    async page => {
      await openCalculator(
        page,
        'v=1&model=gpt3-175b&gpu=a100-80gb-sxm&recipe=megatron-gpt3-175b&seq=2048&ga=1536&end',
      );
      await page.getByLabel('Accumulation steps', { exact: true }).waitFor();
      const clipped = await page
        .locator('#knobs .group:first-child input[inputmode]')
        .evaluateAll(inputs => inputs.filter(one => one.scrollWidth > one.clientWidth).map(({ value }) => value));
      assert.deepEqual(clipped, []);
    },
  );

pageTest(
  'on a phone a comparison has its title above its buttons, and every size in one line',
  { viewport: { width: 390, height: 844 } },
  async page => {
    await openCalculator(page);
    await page.getByRole('button', { name: 'Compare' }).click();
    const comparison = page.locator('#compare');
    await comparison.waitFor();
    await page.getByLabel('Micro-batch size', { exact: true }).fill('4');
    await comparison.locator('td[title]').first().waitFor();
    const place = async selector => comparison.locator(selector).first().boundingBox();
    const [title, button] = [await place('h3'), await place('button')];
    assert.ok(title.y + title.height <= button.y, JSON.stringify({ title, button }));
    const broken = await comparison.locator('td[title]').evaluateAll(cells =>
      cells
        .filter(cell => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
        })
        .map(({ innerText }) => innerText),
    );
    assert.deepEqual(broken, []);
  },
);

pageTest(
  'in the narrowest window no heading runs into the arrow that opens its panel',
  { viewport: { width: 320, height: 700 } },
  async page => {
    await openCalculator(page);
    await page.locator('#textbook .unfold').waitFor();
    await page.locator('#plan .unfold').waitFor(slow);
    const met = await page
      .locator('.unfold')
      .evaluateAll(headings =>
        headings
          .filter(
            one =>
              one.firstElementChild.getBoundingClientRect().right >
              one.querySelector('.chevron').getBoundingClientRect().left,
          )
          .map(one => one.innerText),
      );
    assert.deepEqual(met, []);
  },
);

pageTest('a link that cannot be computed leaves no empty page', {}, async page => {
  await page.goto(`${origin()}/#v=1&model=llama2-7b&gpu=h100-sxm&tp=3&end`);
  await page.getByText('The answer stands here as soon as the configuration can be computed.').waitFor(slow);
  await page.getByRole('button', { name: /^Apply: Tensor parallel/ }).click(slow);
  await page.locator('.answer .total').waitFor(slow);
});

pageTest('the page on method lists the rules of every component, each with its source', {}, async page => {
  await page.goto(`${origin()}/method.html`);
  const rules = await page
    .locator('.rules tr:has(td)')
    .evaluateAll(lines => lines.map(line => [...line.cells].map(cell => cell.textContent.trim())));
  assert.ok(rules.length > 100);
  for (const [why, rows, bytes] of rules) {
    assert.ok(why.length > 5 && rows.length > 1, why);
    const [formula, written] = bytes.split('=');
    const value = formula
      .replace(/[^\d×x]/g, '')
      .split(/[×x]/)
      .reduce((product, factor) => product * Number(factor), 1);
    assert.equal(value, Number(written.replace(/\D/g, '')), bytes);
  }
});

pageTest(
  'in the narrowest window the name of a recipe opens its list, beside the button that resets it',
  { viewport: { width: 320, height: 700 }, hasTouch: true, isMobile: true },
  async page => {
    await openCalculator(page);
    await page.getByLabel('Micro-batch size', { exact: true }).fill('2');
    await settled(page);
    const [name, reset] = [
      await page.locator('#picker-recipe .picked').boundingBox(),
      await page.locator('.edits').boundingBox(),
    ];
    assert.ok(name.y + name.height <= reset.y, JSON.stringify({ name, reset }));
    await page.locator('#picker-recipe').click();
    await page.locator('#search-recipe').waitFor();
  },
);

pageTest(
  '64 GPUs for 70B: the plan leads to frameworks that divide the model, and to their layouts',
  {},
  async page => {
    await openCalculator(page, 'v=1&model=llama3.1-70b&gpu=h100-sxm&end');
    await unfold(page, 'plan');
    await page.locator('#plan-gpus').fill('64');
    await page.getByRole('button', { name: 'Find layouts' }).click();
    await page.getByRole('button', { name: 'Plan with torchtitan' }).click(slow);
    const first = page.locator('.layouts li').filter({ hasText: /Tensor \d+ × FSDP \d+/ });
    await first.first().waitFor(slow);
    await first.first().getByRole('button', { name: /^Use/ }).click();
    await page.locator('.layouts', { hasText: 'in use' }).waitFor(slow);
    assert.match(await page.locator('.answer .verdict').innerText(), /^Fits/);
    assert.match(await fragment(page), /fw=torchtitan.*&tp=\d/);
  },
);

pageTest('a model’s address on the hub is as good as its config.json', {}, async page => {
  await openCalculator(page);
  await page.getByRole('button', { name: 'Import' }).click();
  const text = page.getByLabel('Text to read');
  await text.fill('https://huggingface.co/nobody/knows-it');
  const dialog = page.getByRole('dialog', { name: 'Import' });
  await dialog.getByText('huggingface.co/nobody/knows-it/raw/main/config.json').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Use it' }).isDisabled(), true);
  await text.fill('https://huggingface.co/Qwen/Qwen3-8B/tree/main');
  await dialog.getByRole('button', { name: 'Use it' }).click();
  assert.equal(await picked(page, 'model'), 'Qwen3 8B');
});

pageTest('adapters stand among the common fields, and the recipe says so', {}, async page => {
  await openCalculator(page);
  await page.getByLabel('LoRA rank').fill('16');
  await page.getByLabel('Quantisation').selectOption({ label: 'NF4' });
  await settled(page);
  assert.match(await page.locator('#picker-recipe .summary').innerText(), /QLoRA 16/);
});

pageTest('what uncommon fields mean comes as they are opened', {}, async (page, { requests }) => {
  await openCalculator(page);
  const fetched = () => requests.filter(url => /meanings-\w+\.json$/.test(url)).length;
  assert.equal(fetched(), 0);
  await page.locator('details.more > summary').click();
  await page.mouse.move(4, 4); // what lies under the pointer is explained, too
  await page.getByLabel('Find a field').fill('offload optimizer');
  await page.getByRole('switch', { name: 'Offload optimizer' }).focus();
  await page.locator('.strip', { hasText: 'Optimizer states live in host memory.' }).waitFor();
  assert.equal(fetched(), 1);
  // A search finds words of the meaning, too.
  await page.getByLabel('Find a field').fill('host memory');
  await page.getByRole('switch', { name: 'Offload checkpoints' }).waitFor();
});

pageTest('no words of the timeline lie over others', {}, async page => {
  for (const link of [
    'model=llama3-8b&gpu=rtx-4090&recipe=lora-one-gpu',
    'model=llama2-7b&gpu=h100-sxm',
    'model=llama3.1-70b&gpu=h100-sxm&dp_kind=fsdp&dp=64',
  ])
    for (const width of [1280, 390]) {
      await page.goto('about:blank');
      await page.setViewportSize({ width, height: 900 });
      await openCalculator(page, `v=1&${link}&end`);
      const boxes = await page
        .locator('.chart .height span, .chart .ceiling span')
        .evaluateAll(all => all.map(one => one.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]));
      boxes.sort((a, b) => a[0] - b[0]);
      for (const [index, [top]] of boxes.slice(1).entries()) assert.ok(top >= boxes[index][1], `${link} at ${width}`);
    }
});

pageTest('an objective brings its own fields, which say what they mean; vLLM is named in the bar', {}, async page => {
  await openCalculator(page, 'v=1&model=qwen3-8b&gpu=h100-sxm&recipe=trl-grpo-lora&end');
  const field = name => page.locator('[data-group=Training]').getByLabel(name, { exact: true });
  for (const name of ['Completion length', 'Reference model', 'Share of vLLM']) await field(name).waitFor();
  await field('Share of vLLM').focus();
  await page.locator('.strip').filter({ hasText: 'held by vLLM in the same process' }).waitFor();
  await page.locator('.legend').getByText('vLLM and CUDA', { exact: true }).waitFor();
  const unit = () => page.locator('.box:has(#field-recipe-micro_batch_size) .unit').innerText();
  assert.equal(await unit(), 'sequences');
  await field('Objective').selectOption('orpo');
  await settled(page);
  assert.equal(await unit(), 'pairs');
  assert.equal(await field('Completion length').count(), 0);
  assert.equal(await page.locator('.legend').getByText('Outside PyTorch', { exact: true }).count(), 1);
});
