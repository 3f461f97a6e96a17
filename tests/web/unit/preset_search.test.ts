// How a reader finds a preset: by any part of its name, in any order, under its family.

import type { Preset } from '@source/border.js';
import { checkpointOf, familyTitle, search } from '@source/preset_search.js';
import { describe, expect, test } from 'vitest';

const models: Preset[] = [
  { id: 'bloom', name: 'BLOOM 176B', family: 'bloom', parameters: 176e9 },
  { id: 'tinyllama', name: 'TinyLlama 1.1B', family: 'llama2', parameters: 1.1e9 },
  { id: 'llama2-70b', name: 'Llama 2 70B', family: 'llama2', parameters: 69e9 },
  { id: 'llama2-7b', name: 'Llama 2 7B', family: 'llama2', parameters: 6.7e9 },
  { id: 'gpt3-175b', name: 'GPT-3 175B', family: 'gpt3', parameters: 175e9 },
];
const names = (query: string) => search('model', models, query).map(preset => preset.name);

describe('a search', () => {
  test('finds words in any order, with or without hyphens and blanks', () => {
    expect(names('7b llama')).toEqual(['Llama 2 7B']);
    expect(names('gpt3')).toEqual(['GPT-3 175B']);
    expect(names('llama2')).toContain('Llama 2 70B');
    expect(names('175')).toEqual(['GPT-3 175B']);
    expect(names('nothing of the kind')).toEqual([]);
  });

  test('takes a number where one begins, not out of the middle of another', () => {
    const llamas = ['Llama 3 8B', 'Llama 2 13B', 'Llama 3.1 8B', 'Llama 13.3B'].map(name => ({ id: '', name }));
    const found = (query: string) => search('model', llamas, query).map(({ name }) => name);
    expect(found('llama 3')).toEqual(['Llama 3.1 8B', 'Llama 3 8B']);
    expect(found('3.1')).toEqual(['Llama 3.1 8B']);
    expect(found('1')).toEqual(['Llama 2 13B', 'Llama 13.3B']);
    expect(found('3b')).toEqual([]);
    expect(found('8b')).toEqual(['Llama 3.1 8B', 'Llama 3 8B']);
    const tails = ['Qwen3 14.8B', 'Phi 3.8B', 'MiniCPM3 18B', 'Mixtral 8x7B'].map(name => ({ id: '', name }));
    expect(search('model', tails, '8b')).toEqual([]);
    expect(search('model', tails, '7b').map(({ name }) => name)).toEqual(['Mixtral 8x7B']);
    expect(search('model', [{ id: '', name: 'Qwen3 14B', parameters: 14.8e9 }], '8b')).toEqual([]);
    expect(search('gpu', [{ id: 'h100', name: 'H100' }], '100')).toHaveLength(1);
  });

  test('of one size the later version stands first', () => {
    const same = ['A100 PCIe 80GB', 'A100 SXM4 80GB'].map(name => ({
      id: name,
      name,
      vendor: 'NVIDIA',
      memory_bytes: 80,
    }));
    expect(search('gpu', same, 'a100').map(({ name }) => name)).toEqual(['A100 SXM4 80GB', 'A100 PCIe 80GB']);
  });

  test('without words gives everything, popular families first, by size within a family', () => {
    expect(names('')).toEqual(['TinyLlama 1.1B', 'Llama 2 7B', 'Llama 2 70B', 'GPT-3 175B', 'BLOOM 176B']);
  });
});

test('a model is found by its name on the Hugging Face hub, and by the name of a model derived from it', () => {
  const llamas = ['Llama-3.1-8B', 'Llama-3.1-70B'].map(id => ({ id, name: id, hugging_face_id: `meta-llama/${id}` }));
  const unnamed = { id: 'gpt3-175b', name: 'GPT-3 175B', hugging_face_id: '' };
  const found = (query: string) => search('model', [...llamas, unnamed], query).map(({ id }) => id);
  expect(found('meta-llama/Llama-3.1-8B')).toEqual(['Llama-3.1-8B']);
  expect(found('meta-llama/Llama-3.1-70B-Instruct')).toEqual(['Llama-3.1-70B']);
  expect(found('meta-llama')).toHaveLength(2);
  expect(found('-Instruct')).toEqual([]);
});

test('a model is found by the names of its other checkpoints', () => {
  const checkpoints = ['meta-llama/Llama-3.3-70B-Instruct', 'deepseek-ai/DeepSeek-R1-Distill-Llama-70B'];
  const presets = [
    { id: 'llama3.1-8b', name: 'Llama 3.1 8B' },
    { id: 'llama3.1-70b', name: 'Llama 3.1 70B', checkpoints },
  ];
  const found = (query: string) => search('model', presets, query).map(({ id }) => id);
  expect(found('deepseek r1 distill')).toEqual(['llama3.1-70b']);
  expect(found('Llama 3.3')).toEqual(['llama3.1-70b']);
  const [, big] = presets;
  expect(checkpointOf(big as Preset, 'r1')).toBe('deepseek-ai/DeepSeek-R1-Distill-Llama-70B');
  expect(checkpointOf(big as Preset, 'llama 70b')).toBe('');
  expect(checkpointOf(big as Preset, 'qwen')).toBe('');
});

test('a GPU is found by what nvidia-smi calls it, its memory technology included', () => {
  const gpus = [
    {
      id: 'h100-pcie',
      name: 'H100 PCIe 80GB',
      vendor: 'NVIDIA',
      memory_technology: 'hbm2e',
      memory_bytes: 80 * 2 ** 30,
    },
    { id: 'h100-sxm', name: 'H100 SXM5 80GB', vendor: 'NVIDIA', memory_technology: 'hbm3', memory_bytes: 80 * 2 ** 30 },
    { id: 'a100-80gb-sxm', name: 'A100 SXM4 80GB', vendor: 'NVIDIA', memory_technology: 'hbm2e' },
  ];
  const found = (query: string) => search('gpu', gpus, query).map(({ id }) => id);
  expect(found('NVIDIA H100 80GB HBM3')).toEqual(['h100-sxm']);
  expect(found('NVIDIA A100-SXM4-80GB')).toEqual(['a100-80gb-sxm']);
});

test('a GPU is found by the memory it is sold with', () => {
  const gpus = [
    { id: 'rtx-4090', name: 'GeForce RTX 4090', vendor: 'NVIDIA', memory_bytes: 24 * 2 ** 30 },
    { id: 'h100-sxm', name: 'H100 SXM5 80GB', vendor: 'NVIDIA', memory_bytes: 80 * 2 ** 30 },
  ];
  for (const query of ['24', '24GB', '24 gib', 'nvidia 24 GB']) {
    expect(search('gpu', gpus, query).map(({ id }) => id)).toEqual(['rtx-4090']);
  }
});

test('recipes: by the GPUs they take, names that begin with the query first, and none at all', () => {
  const recipes = [
    { id: 'big', name: 'GPT-3 on FSDP', recipe: { data_parallel_size: 8, tensor_parallel: 8, pipeline_parallel: 16 } },
    { id: 'alpaca', name: 'Alpaca, FSDP1', recipe: { data_parallel_size: 4 } },
    { id: 'fsdp', name: 'FSDP on 8 GPUs', recipe: { data_parallel_size: 8 } },
    { id: 'lora', name: 'LoRA', recipe: {} },
  ];
  expect(search('recipe', recipes, '').map(({ id }) => id)).toEqual(['', 'lora', 'alpaca', 'fsdp', 'big']);
  expect(search('recipe', recipes, 'fsdp').map(({ id }) => id)).toEqual(['fsdp', 'alpaca', 'big']);
});

test('a family is named by what most of its names begin with', () => {
  expect(familyTitle('model', models, 'llama2')).toBe('Llama 2');
  expect(familyTitle('model', models, 'bloom')).toBe('BLOOM');
  const third = ['Llama 3 8B', 'Llama 3.1 8B', 'Llama 3.2 1B'].map(name => ({ id: name, name, family: 'llama3' }));
  expect(familyTitle('model', third, 'llama3')).toBe('Llama 3');
  const code = ['StarCoderBase 1B', 'StarCoder 15.5B'].map(name => ({ id: name, name, family: 'gpt-bigcode' }));
  expect(familyTitle('model', code, 'gpt-bigcode')).toBe('StarCoder');
  const strangers = ['Alpha 1B', 'Beta 2B'].map(name => ({ id: name, name, family: 'mixed' }));
  expect(familyTitle('model', strangers, 'mixed')).toBe('mixed');
  expect(familyTitle('gpu', models, 'NVIDIA')).toBe('NVIDIA');
});
