// A model named as on the Hugging Face hub, where its config.json was asked for.

import type { Preset } from '@source/border.js';
import { readHubName } from '@source/share/hub.js';
import { expect, test } from 'vitest';

const models: Preset[] = [
  { id: 'qwen3', name: 'Qwen3 0.6B', hugging_face_id: 'Qwen/Qwen3' },
  { id: 'llama3.1-8b', name: 'Llama 3.1 8B', hugging_face_id: 'meta-llama/Llama-3.1-8B' },
  { id: 'qwen3-8b', name: 'Qwen3 8B', hugging_face_id: 'Qwen/Qwen3-8B', checkpoints: ['Qwen/Qwen3-8B-FP8'] },
];

test.each([
  ['meta-llama/Llama-3.1-8B', 'llama3.1-8b'],
  [' meta-llama/Llama-3.1-8B-Instruct\n', 'llama3.1-8b'],
  ['https://huggingface.co/Qwen/Qwen3-8B', 'qwen3-8b'],
  ['Qwen/Qwen3-8B-Base', 'qwen3-8b'],
  ['qwen/qwen3', 'qwen3'],
  ['Qwen/Qwen3-14B', 'qwen3'],
  ['https://huggingface.co/Qwen/Qwen3-8B/blob/main/config.json', 'qwen3-8b'],
  ['hf.co/Qwen/Qwen3-8B-FP8?library=transformers', 'qwen3-8b'],
])('%s is known', (text, id) => {
  expect(readHubName(text, models)).toMatchObject({
    ok: true,
    format: 'hub',
    sections: ['model'],
    config: { model: { preset: id } },
    applied: [{ path: '/model', set: id }],
  });
});

test('one that is not known says where its config.json is', () => {
  const read = readHubName('https://huggingface.co/someone/New-Model/tree/main', models);
  expect(read).toMatchObject({ ok: false, sections: [], applied: [] });
  expect(read?.issues?.[0]?.message).toContain('someone/New-Model');
  expect(read?.issues?.[0]?.hint).toContain('https://huggingface.co/someone/New-Model/raw/main/config.json');
});

test.each([
  '',
  '{"model_type": "llama"}',
  'v=1&model=llama2-7b&end',
  'https://example.org/#v=1&model=a/b',
  'a b/c',
  '--tp 8',
  'a/b/c',
])('%s is no name of a model', text => expect(readHubName(text, models)).toBeUndefined());
