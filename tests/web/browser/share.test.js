// Import and export: what comes into the page and what leaves it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { AxeBuilder, fragment, headline, openCalculator, origin, pageTest, settled } from './chromium.js';

// deepspeedai/DeepSpeedExamples: a ZeRO-2 file, with a key that memory does not know.
const deepspeed = `{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "steps_per_print": 10,
  "bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "contiguous_gradients": false}}`;
const configJson = `{"architectures": ["MistralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
  "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 16,
  "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 32000}`;

const importing = async page => {
  await page.getByRole('button', { name: 'Import' }).click();
  return page.getByRole('dialog', { name: 'Import' });
};
const exporting = async page => {
  await page.getByRole('button', { name: 'Export' }).click();
  return page.getByRole('dialog', { name: 'Export' });
};

const notebook = await readFile(new URL('../../fuzz/corpus/notebook.py', import.meta.url), 'utf8');

pageTest(
  'on a small phone it is in sight why a text cannot be used',
  { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true },
  async page => {
    await openCalculator(page);
    const dialog = await importing(page);
    await dialog.getByLabel('Text to read').fill('hello');
    const reason = dialog.getByText('This text cannot be used');
    await reason.waitFor();
    const [text, buttons] = [
      await reason.boundingBox(),
      await dialog.getByRole('button', { name: 'Cancel' }).boundingBox(),
    ];
    assert.ok(text.y + text.height <= buttons.y, `${text.y} ${buttons.y}`);
  },
);

pageTest('arguments of a Megatron launch keep the model of the page', {}, async page => {
  await openCalculator(page, 'v=1&model=gpt3-175b&gpu=h100-sxm&recipe=megatron-gpt3-175b&end');
  const dialog = await importing(page);
  await dialog
    .getByLabel('Text to read')
    .fill('--tensor-model-parallel-size 4 --pipeline-model-parallel-size 8 --micro-batch-size 2 --bf16');
  await dialog.getByText('The model stays the one on the page.').waitFor();
  await dialog.getByRole('button', { name: 'Use it' }).click();
  assert.match(await fragment(page), /^v=1&model=gpt3-175b&.*fw=megatron&.*mbs=2.*tp=4.*pp=8/);
});

pageTest('how many GPUs there are is asked where a file leaves it to the launch', {}, async page => {
  await openCalculator(page);
  const dialog = await importing(page);
  const text = dialog.getByLabel('Text to read');
  await text.fill('[parallelism]\ndata_parallel_shard_degree = -1\ntensor_parallel_degree = 8\n');
  const gpus = dialog.getByLabel('GPUs of the run');
  assert.equal(await gpus.inputValue(), '8');
  await gpus.fill('100');
  await dialog.getByText('Each copy of the model takes 8 GPUs: give a multiple.').waitFor();
  await gpus.fill('512');
  await dialog.getByText('on each of 512 GPUs').waitFor();
  await dialog.getByRole('button', { name: 'Use it' }).click();
  assert.match(await fragment(page), /&dp=64&.*tp=8/);
  await importing(page);
  await text.fill('[parallelism]\ndata_parallel_shard_degree = 4\n');
  await dialog.getByText('Read as a torchtitan file.').waitFor();
  assert.equal(await gpus.count(), 0, 'this one says it');
});

pageTest('a DeepSpeed file says what is applied and what is not, and keeps the model', {}, async page => {
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&dp=8&end');
  const dialog = await importing(page);
  await dialog.getByLabel('Text to read').fill(deepspeed);
  await dialog.getByText('Read as a DeepSpeed file.').waitFor();
  assert.match(
    await dialog.getByRole('group', { name: 'Applied keys' }).innerText(),
    /zero_optimization\.stage = 2.*ZeRO-2/s,
  );
  const text = await dialog.innerText();
  assert.match(text, /contiguous_gradients = false It changes memory/);
  assert.match(text, /No part of a configuration here: steps_per_print\./);
  const found = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze();
  assert.deepEqual(
    found.violations.map(({ id }) => id),
    [],
  );
  await dialog.getByRole('button', { name: 'Use it' }).click();
  await settled(page);
  assert.match(await headline(page), /^Llama 2 7B/);
  const link = await fragment(page);
  for (const part of ['fw=deepspeed', 'mbs=2', 'seq=2048', 'ga=4', 'dp_kind=zero2', 'dp=8', 'clip=0'])
    assert.ok(link.includes(part), `${part} in ${link}`);
  await page.goBack();
  assert.equal(await fragment(page), 'v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&dp=8&end');
});

// axolotl-ai-cloud/axolotl, examples/llama-3/lora-1b.yml, shortened.
const axolotl = `base_model: NousResearch/Llama-3.2-1B
datasets:
  - path: teknium/GPT4-LLM-Cleaned
    type: alpaca
adapter: lora
sequence_len: 2048
lora_r: 16
lora_target_modules:
  - q_proj
  - v_proj
micro_batch_size: 2
optimizer: adamw_8bit
bf16: auto
gradient_checkpointing: true
`;

pageTest('an axolotl file brings its model, adapters and batch', {}, async page => {
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&dp=8&end');
  const dialog = await importing(page);
  await dialog.getByLabel('Text to read').fill(axolotl);
  await dialog.getByText('Read as an axolotl file.').waitFor();
  assert.match(
    await dialog.getByRole('group', { name: 'Applied keys' }).innerText(),
    /base_model.*Model\s+Llama 3\.2 1B/s,
  );
  await dialog.getByRole('button', { name: 'Use it' }).click();
  await settled(page);
  assert.match(await headline(page), /^Llama 3\.2 1B/);
  const link = await fragment(page);
  for (const part of ['model=llama3.2-1b', 'gpu=h100-sxm', 'mbs=2', 'seq=2048', 'opt=adamw_8bit', 'lora=16', 'dp=8'])
    assert.ok(link.includes(part), `${part} in ${link}`);
});

pageTest('cells of a notebook are the Trainer’s arguments, and the answer stays in sight', {}, async page => {
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&end');
  const dialog = await importing(page);
  await dialog.getByLabel('Text to read').fill(notebook);
  await dialog.getByText('Read as Python with transformers.').waitFor();
  assert.match(
    await dialog.getByRole('group', { name: 'Applied keys' }).innerText(),
    /model_name_or_path.*Model\s+Llama 3\.1 8B/s,
  );
  assert.match(await dialog.innerText(), /max_grad_norm = clip The program computes it/);
  // However long the report is, the button is where it can be seen.
  const button = await dialog.getByRole('button', { name: 'Use it' }).boundingBox();
  assert.ok(button.y + button.height <= page.viewportSize().height);
  await dialog.getByRole('button', { name: 'Use it' }).click();
  await settled(page);
  const link = await fragment(page);
  for (const part of ['model=llama3.1-8b', 'mbs=4', 'seq=2048', 'opt=adamw_paged_8bit', 'lora=16', 'quant=nf4_double'])
    assert.ok(link.includes(part), `${part} in ${link}`);
});

pageTest('a size in quotes is named', {}, async page => {
  await openCalculator(page);
  const dialog = await importing(page);
  await dialog.getByLabel('Text to read').fill(configJson.replace('"hidden_size": 4096', '"hidden_size": "4096"'));
  await dialog.getByText('"hidden_size" is the text "4096", not a number.').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Use it' }).isDisabled());
});

pageTest('a config.json dropped on the calculator is a model', {}, async page => {
  await openCalculator(page);
  const transfer = await page.evaluateHandle(text => {
    const data = new DataTransfer();
    data.items.add(new File([text], 'config.json', { type: 'application/json' }));
    return data;
  }, configJson);
  await page.locator('trainmem-calculator .calculator').dispatchEvent('drop', { dataTransfer: transfer });
  const dialog = page.getByRole('dialog', { name: 'Import' });
  await dialog.getByText('Read as a Hugging Face config.json.').waitFor();
  await dialog.getByRole('button', { name: 'Use it' }).click();
  await settled(page);
  assert.match(await fragment(page), /type=mistral&.*layers=16/);
});

pageTest('bad pastes are named, and nothing changes', {}, async page => {
  await openCalculator(page);
  const before = await headline(page);
  const dialog = await importing(page);
  for (const [text, said] of [
    ['hello', /of no kind that is known/],
    ['{"model": ', /cannot be used/],
    ['{"model_type": "xlstm", "transformers_version": "4.44"}', /xlstm/],
    ['{"model": "llama2-7b", "gpu": "h100-sxm", "recipe": {"micro_batch": 2}}', /micro_batch/],
    ['<script>alert(1)</script> --x', /None of these options/],
    ['--num-layers 4 --hidden-size 64', /size of the vocabulary/],
  ]) {
    await dialog.getByLabel('Text to read').fill(text);
    await dialog.getByRole('status').filter({ hasText: said }).waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Use it' }).isDisabled());
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await headline(page), before);
});

pageTest(
  'every export has its exact text, and opens again where it can',
  { permissions: ['clipboard-read', 'clipboard-write'] },
  async page => {
    await openCalculator(page, 'v=1&model=llama3.1-8b&gpu=h100-sxm&recipe=torchtitan-llama3-8b&end');
    const answer = await page.locator('trainmem-calculator').evaluate(element => element.calculator.state.good);
    const dialog = await exporting(page);
    const copied = async name => {
      await dialog.getByRole('tab', { name, exact: true }).click();
      await dialog.getByRole('button', { name: 'Copy' }).click();
      await dialog.getByText('Copied').waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.equal(await copied('Link'), `${origin()}/#${answer.link}`);
    const markdown = await copied('Markdown');
    assert.match(
      markdown,
      new RegExp(`\\| \\*\\*On the device\\*\\* .* ${answer.result.device.expected.toLocaleString('en')} `),
    );
    const csv = (await copied('CSV')).trim().split('\r\n');
    assert.equal(csv.length, answer.result.rows.length + 1);
    const column = csv[0].split(',').indexOf('bytes');
    const sum = csv
      .slice(1)
      .reduce((total, line) => total + Number(line.match(/("[^"]*"|[^,]*)(?:,|$)/g)[column].replace(',', '')), 0);
    assert.equal(sum, answer.result.allocated, 'the rows of the CSV sum to allocated');
    assert.deepEqual(JSON.parse(await copied('JSON')).result, answer.result);
    assert.match(
      await copied('Embed: element'),
      /<div><trainmem-calculator view="compact" config="v=1&amp;model=llama3.1-8b/,
    );
    assert.match(
      await copied('Embed: iframe'),
      /sandbox="allow-scripts allow-popups" src="[^"]+embed\.html\?view=bar#v=1&amp;/,
    );
    await page.getByRole('radio', { name: 'full' }).check({ force: true });
    assert.match(await copied('Embed: iframe'), /height:1600px.*embed\.html\?view=full#/s);
    assert.match(await copied('Embed: element'), /<trainmem-calculator view="full"/);
    const toml = await copied('torchtitan TOML');
    assert.match(toml, /\[parallelism\]\ndata_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 8\n/);
    assert.match(await copied('Megatron-LM arguments'), /^torchrun --nproc-per-node 8 pretrain_gpt.py \\\n/);
    assert.match(await copied('accelerate YAML'), /fsdp_version: 2/);
    assert.ok(JSON.parse(await copied('DeepSpeed JSON')).train_micro_batch_size_per_gpu === 1);
    const found = await new AxeBuilder({ page })
      .withTags(['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'])
      .analyze();
    assert.deepEqual(
      found.violations.map(({ id }) => id),
      [],
    );
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    const again = await importing(page);
    await again.getByLabel('Text to read').fill(toml);
    await again.getByRole('button', { name: 'Use it' }).click();
    await settled(page);
    const back = await page.locator('trainmem-calculator').evaluate(element => element.calculator.state.good);
    assert.equal(back.result.allocated, answer.result.allocated);
  },
);

pageTest('the picture can be copied', { permissions: ['clipboard-read', 'clipboard-write'] }, async page => {
  await openCalculator(page);
  const dialog = await exporting(page);
  await dialog.getByRole('tab', { name: 'PNG', exact: true }).click();
  await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
  await dialog.getByText('Copied', { exact: true }).waitFor();
  const size = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    const picture = await createImageBitmap(await item.getType('image/png'));
    return [picture.width, picture.height];
  });
  assert.deepEqual(size, [2400, 1260]);
});

pageTest('the bars as SVG and PNG', {}, async page => {
  await openCalculator(page);
  const dialog = await exporting(page);
  const saved = async name => {
    await dialog.getByRole('tab', { name, exact: true }).click();
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: /^Save as/ }).click();
    return readFile(await (await download).path());
  };
  const svg = (await saved('SVG')).toString();
  assert.match(svg, /^<svg xmlns=.*aria-label="Llama 2 7B needs/);
  const { components, device } = await page
    .locator('trainmem-calculator')
    .evaluate(element => element.calculator.state.good.result);
  const [, ...widths] = [...svg.matchAll(/y="226.8" width="([\d.]+)" height="81.9"/g)].map(([, width]) =>
    Number(width),
  );
  const sizes = Object.values(components).filter(bytes => bytes > 0);
  assert.equal(widths.length, sizes.length + 2, 'every component, the cache, and what is outside PyTorch');
  const inner = 1200 - 2 * 63.6;
  assert.ok(Math.abs(widths[0] - (sizes[0] / device.expected) * inner) < 3, 'to scale');
  const png = await saved('PNG');
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.equal(png.readUInt32BE(16), 2400);
  assert.equal(png.readUInt32BE(20), 1260);
});

pageTest('what is taken along keeps the units; bytes stand beside GiB once', {}, async page => {
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&view.units=bytes&end');
  const dialog = await exporting(page);
  const shown = async name => {
    await dialog.getByRole('tab', { name, exact: true }).click();
    return dialog.locator('pre').innerText();
  };
  const table = await shown('Markdown');
  assert.match(table, /\| Memory \| Bytes \| Share \|/);
  assert.match(table, /\| \*\*On the device\*\* \| \*\*[\d.]+ GiB\*\* \| [\d,]{15} \|/);
  assert.match(await shown('Embed: element'), /config="v=1&amp;[^"]+&amp;view\.units=bytes&amp;end"/);
});

pageTest('the dialogs fit a phone', { viewport: { width: 320, height: 700 } }, async page => {
  await openCalculator(page);
  for (const open of [importing, exporting]) {
    const dialog = await open(page);
    await dialog.waitFor();
    if (open === exporting) await dialog.getByRole('tab', { name: 'Markdown', exact: true }).click();
    const [whole, seen] = await dialog.evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
    assert.ok(whole <= seen, `${whole} pixels in ${seen}`);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
});

pageTest('the dialogs are fetched when they are first opened', {}, async (page, { requests }) => {
  await openCalculator(page);
  const fetched = () => requests.filter(url => /\/open-[\w-]+\.js$/.test(url)).length;
  assert.equal(fetched(), 0);
  await (await importing(page)).waitFor();
  assert.equal(fetched(), 1);
});

pageTest('without the clipboard’s interface the text of the open dialog is copied all the same', {}, async page => {
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await openCalculator(page);
  const dialog = await exporting(page);
  await dialog.getByRole('tab', { name: 'Link' }).click();
  const link = await dialog.locator('pre').innerText();
  await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
  await dialog.getByText('Copied').waitFor();
  await page.keyboard.press('Escape');
  const reading = await importing(page);
  await reading.getByLabel('Text to read').focus();
  await page.keyboard.press('Control+v');
  assert.equal(await reading.getByLabel('Text to read').inputValue(), link);
});

pageTest('a copy that the browser refuses is not called one', {}, async page => {
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined });
    document.execCommand = () => false;
  });
  await openCalculator(page);
  const dialog = await exporting(page);
  await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
  await dialog.getByText('The browser refuses').waitFor();
});

pageTest('a dialog that does not come says so, and comes when asked again', { tolerate: /Failed to/ }, async page => {
  let refuse = true;
  await page.route(/assets\/open-[\w-]+\.js/, route => (refuse ? route.abort() : route.continue()));
  await openCalculator(page);
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByText('This dialog could not be fetched.').waitFor();
  refuse = false;
  await importing(page).then(dialog => dialog.waitFor());
});
