// One page for each of the models that people ask for most, m/<model>/: exact numbers computed at build time by the
// engine that the calculator loads, a picture of the bar, and what chat programs read for a preview of the link.
//
// TRAINMEM_ADDRESS, the address under which the site is published, makes the addresses in previews absolute.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';
import { componentLabels, componentMeanings, deviceSegments, fitsWithoutCache } from '../source/components.ts';
import { capitalized, gigabytes, percent, plural } from '../source/format.ts';
import { picture } from '../source/share/picture.ts';
import { plain } from './fill.js';
import { head, top } from './frame.js';
import { address } from './published.js';

const small = [
  { gpu: 'h100-sxm' },
  { gpu: 'a100-80gb-sxm', recipe: 'bf16-one-gpu' },
  { gpu: 'h100-sxm', recipe: 'low-memory-one-gpu' },
  { gpu: 'h100-sxm', recipe: 'lora-one-gpu' },
  { title: 'QLoRA on a 24 GB card', gpu: 'rtx-4090', recipe: 'qlora-7b-24gb' },
  { gpu: 'h100-sxm', recipe: 'zero2-8-gpus' },
  { gpu: 'h100-sxm', recipe: 'zero3-8-gpus' },
  { gpu: 'h100-sxm', recipe: 'fsdp2-8-gpus' },
];
const fsdp64 = {
  title: 'FSDP on 64 GPUs',
  gpu: 'h100-sxm',
  recipe: 'fsdp2-8-gpus',
  fields: { data_parallel_size: 64 },
};
const zero64 = {
  title: 'ZeRO-3 on 64 GPUs',
  gpu: 'h100-sxm',
  recipe: 'zero3-8-gpus',
  fields: { data_parallel_size: 64, micro_batch_size: 1 },
};
const sharded = [
  fsdp64,
  {
    title: 'torchtitan, tensor parallel 8, FSDP over 32',
    gpu: 'h100-sxm',
    recipe: 'torchtitan-llama3-70b',
    fields: { sequence_length: 4096 },
  },
  zero64,
  { title: 'QLoRA', gpu: 'h100-sxm', recipe: 'qlora-7b-24gb' },
  { gpu: 'h100-sxm' },
];
const experts = [
  { title: 'Megatron, expert parallel 8, pipeline 4', gpu: 'h100-sxm', recipe: 'megatron-mixtral-8x7b' },
  fsdp64,
  zero64,
  { gpu: 'h200-sxm', recipe: 'bf16-one-gpu' },
  { gpu: 'h200-sxm' },
];
/** DeepSeek-V3 technical report, section 3.2: 16-way pipeline, 64-way experts, 2048 GPUs. Its 61 layers end in a stage of one. */
const deepseekLayout = {
  pipeline_parallel: 16,
  pipeline_last_stage_layers: 1,
  expert_parallel: 64,
  data_parallel_size: 128,
};
/** The first configuration is the one on the picture. */
export const presetPages = {
  'llama2-7b': small,
  'mistral-7b-v0.3': small,
  'llama3.1-8b': small,
  'qwen3-8b': small,
  'llama2-13b': small,
  'llama2-70b': sharded,
  'llama3.1-70b': sharded,
  'gpt3-175b': [
    { gpu: 'a100-80gb-sxm', recipe: 'megatron-gpt3-175b' },
    { gpu: 'a100-80gb-sxm', recipe: 'megatron-175b-selective' },
  ],
  'llama3.1-405b': [
    {
      title: 'torchtitan, tensor parallel 8, FSDP over 64',
      gpu: 'h100-sxm',
      recipe: 'torchtitan-llama3-70b',
      fields: { data_parallel_size: 64, micro_batch_size: 1 },
    },
    {
      title: 'Megatron, tensor parallel 8, pipeline 18, distributed optimizer',
      gpu: 'h100-sxm',
      recipe: 'megatron-gpt3-175b',
      fields: { precision: 'bf16_mixed', pipeline_parallel: 18, data_parallel_size: 8, sequence_length: 8192 },
    },
    { gpu: 'h100-sxm', recipe: 'torchtitan-llama3-405b' },
    { gpu: 'h100-sxm', recipe: 'llama3-405b-pretraining' },
    { gpu: 'h100-sxm', recipe: 'llama3-405b-128k' },
  ],
  'mixtral-8x7b': experts,
  'qwen3-30b-a3b': experts,
  'deepseek-v3': [
    {
      title: 'Megatron, pipeline 16, expert parallel 64, every block recomputed',
      gpu: 'h100-sxm',
      recipe: 'megatron-mixtral-8x7b',
      fields: { ...deepseekLayout, recomputation: 'full' },
    },
    {
      title: 'Megatron, pipeline 16, expert parallel 64',
      gpu: 'h200-sxm',
      recipe: 'megatron-mixtral-8x7b',
      fields: deepseekLayout,
    },
    {
      title: 'ZeRO-3 on 512 GPUs',
      gpu: 'h200-sxm',
      recipe: 'zero3-8-gpus',
      fields: { data_parallel_size: 512, micro_batch_size: 1 },
    },
  ],
};

const verdictWords = { fits: 'fits', tight: 'tight', does_not_fit: 'does not fit', unknown: '' };

function answers(engine, lists, model, cases) {
  const found = [];
  for (const { title, gpu, recipe, fields } of cases) {
    const config = {
      model: { preset: model },
      gpu: { preset: gpu },
      recipe: { ...(recipe && { preset: recipe }), ...fields },
    };
    const answer = JSON.parse(engine.estimate(JSON.stringify(config)));
    if (!answer.ok) throw new Error(`m/${model}/: ${answer.issues.map(({ message }) => message).join(' ')}`);
    const name = (list, id) => list.find(one => one.id === id)?.name;
    const setup = title ?? (recipe ? name(lists.recipes, recipe) : 'Full fine-tuning, defaults of transformers');
    found.push({ ...answer, gpu: name(lists.gpus, gpu), setup });
  }
  return found;
}

function page({ id, name, all, png, styles }) {
  const [{ result, link }] = all;
  const needs = gigabytes(result.device.expected, 'GiB');
  const billions = (result.parameters / 1e9).toPrecision(3);
  const title = `GPU memory to train ${name}`;
  const gpus = result.num_gpus > 1 ? `each of ${result.num_gpus.toLocaleString('en')} GPUs` : 'one GPU';
  const text = `${name} (${billions} B parameters) needs ${needs} on ${gpus} (${all[0].setup}); ${plural(all.length, 'way')} to train it, to the byte.`;
  const path = `m/${id}/`;
  const image = png ? `${address ? address + path : './'}bar.png` : '';
  const row = (cells, tag = 'td') => `<tr>${cells.map(cell => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  const ways = all.map(({ setup, gpu, result: { device, least, allocated, num_gpus, verdict }, link: to }) =>
    row([
      `<a href="../../#${plain(to)}">${plain(setup)}</a>`,
      `${num_gpus > 1 ? `${num_gpus.toLocaleString('en')} × ` : ''}${plain(gpu)}`,
      fitsWithoutCache({ verdict }) ? `at least ${gigabytes(least, 'GiB')}` : gigabytes(device.expected, 'GiB'),
      allocated.toLocaleString('en'),
      verdictWords[verdict.fit],
    ]),
  );
  const parts = deviceSegments(result).map(({ name: part, label, bytes, meaning }) =>
    row([
      plain(componentLabels[part] ?? label),
      gigabytes(bytes, 'GiB'),
      bytes.toLocaleString('en'),
      percent(bytes, result.device.expected),
      plain(componentMeanings[part] ?? meaning),
    ]),
  );
  return `<!doctype html>
<html lang="en">
<head>
${head({ title: plain(`${title} – trainmem`), description: plain(text), preview: plain(`${title}: ${needs}`), path, image, root: '../../', styles })}
<script type="module" src="../../trainmem-calculator.js"></script>
</head>
<body>
${top({ root: '../../' })}
<main id="text" class="text model" tabindex="-1">
<h1>${plain(title)}</h1>
<p class="standfirst">${plain(text)}</p>
<p><img src="./bar.svg" width="1200" height="630" alt="${plain(
    `${name} needs ${needs}: ${deviceSegments(result)
      .map(({ label, bytes }) => `${label} ${gigabytes(bytes, 'GiB')}`)
      .join(', ')}`,
  )}"></p>
<h2>Ways to train it</h2>
<div class="wide" tabindex="0" role="group" aria-label="Ways to train it"><table class="ways">${row(['Setup', 'GPUs', 'Needs', 'Allocated at the peak, bytes', 'Verdict'], 'th')}${ways.join('')}</table></div>
<h2>Where it goes</h2>
<p>${plain(all[0].setup)}, at the highest moment of a step, on each GPU. The parts sum to ${result.device.expected.toLocaleString('en')} bytes.</p>
<div class="wide" tabindex="0" role="group" aria-label="Parts"><table class="parts">${row(['Part', 'Memory', 'Bytes', 'Share', 'What it is'], 'th')}${parts.join('')}</table></div>
<h2>Try your own</h2>
<div><trainmem-calculator view="compact" config="${plain(link)}"><a href="../../#${plain(link)}">Open the calculator with this configuration</a></trainmem-calculator></div>
</main>
</body>
</html>
`;
}

/** 1200 x 630 pixels, or nothing where the program is missing. */
function toPng(folder) {
  try {
    execFileSync('rsvg-convert', ['--output', join(folder, 'bar.png'), join(folder, 'bar.svg')], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What the pages say. */
async function computed(engineModule) {
  const engine = await loadEngine(dirname(engineModule));
  const lists = JSON.parse(engine.presets());
  return Object.entries(presetPages).map(([id, cases]) => ({
    id,
    name: lists.models.find(model => model.id === id).name,
    all: answers(engine, lists, id, cases),
  }));
}

function bar(name, { result, setup }) {
  const gpus = result.num_gpus > 1 ? `each of ${result.num_gpus.toLocaleString('en')} GPUs` : 'one GPU';
  return picture({
    result,
    title: `${name}: ${gigabytes(result.device.expected, 'GiB')} on ${gpus}`,
    subtitle: [setup, capitalized(verdictWords[result.verdict.fit])]
      .filter(Boolean)
      .map(text => `${text}.`)
      .join(' '),
    foot: 'trainmem: where does GPU memory go when I train this model?',
    units: 'GiB',
    dark: false,
    width: 1200,
    height: 630,
  });
}

export function presetPagesPlugin(engineModule) {
  let pages;
  return {
    name: 'preset-pages',
    buildStart() {
      pages = computed(engineModule);
    },
    transformIndexHtml: {
      order: 'pre',
      async handler(html) {
        if (!html.includes('<!-- pages of models -->')) return html;
        const links = (await pages).map(({ id, name }) => `<a href="./m/${id}/">${plain(name)}</a>`);
        return html.replace('<!-- pages of models -->', `<p>Memory to train ${links.join(', ')}.</p>`);
      },
    },
    async writeBundle({ dir }, bundle) {
      const styles = ['site', 'text'].map(one =>
        Object.keys(bundle).find(name => new RegExp(`/${one}-[\\w-]+\\.css$`).test(name)),
      );
      for (const { id, name, all } of await pages) {
        const folder = join(dir, 'm', id);
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, 'bar.svg'), bar(name, all[0]));
        writeFileSync(join(folder, 'index.html'), page({ id, name, all, png: toPng(folder), styles }));
      }
    },
  };
}
