// The types that the page declares for the engine's answers, held against real answers: TypeScript checks each answer
// as a literal of its type, where an unknown, missing or mistyped field is an error. So are the functions that
// trainmem.d.ts declares against those that the module binds.
//
//   node tests/wasm/declared_types.mjs [build/wasm]
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';

const engine = await loadEngine(process.argv[2]);
const folder = 'build/types';
const link = 'model=llama3.1-8b&gpu=rtx-4090&end';
const refused = '{"recipe":{"tensor_parallel":3,"micro_batch":1,"fused_norm":true},"model":"gpt2"}';

const goldens = readdirSync('tests/goldens').filter((name) => name.endsWith('.request.json'));
const estimates = goldens.map((name) => engine.estimate(readFileSync(join('tests/goldens', name), 'utf8')));
const deepspeed = '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}, "x": 1}';
const measurement = '{"bandwidth_gb_per_s": 3012.4, "what": "triad", "source": "a test", "device": "a GPU"}';

/** [type, answers as text]. */
const answers = [
  ['Answer', [...estimates, engine.estimate(refused)]],
  ['LinkAnswer', [link, 'v=1&a.model=gpt2&a.gpu=h100-sxm&b.seq=512&end', 'tp=x'].map((text) => engine.read_link(text))],
  ['Presets', [engine.presets()]],
  ['Imported', [engine.read_settings(deepspeed)]],
  ['{ ok: true; settings: LaunchSettings[] }', [engine.write_settings(link)]],
  ['MeasurementAnswer', [engine.read_measurement(measurement)]],
  ["AnswerOf['advice']", [link, refused].map((text) => engine.advice(text))],
  ["AnswerOf['plan']", [engine.plan('model=llama2-7b&gpu=h100-sxm', 8)]],
  ["AnswerOf['sweep']", [engine.sweep(link, '/recipe/sequence_length', '1024,x')]],
];

const bindings = readFileSync('wasm_bindings/bindings.cpp', 'utf8');
const functions = [...bindings.matchAll(/function\("(\w+)"/g)].map(([, name]) => name);
const source = [
  "import type { Trainmem } from '@engine';",
  "import type { Answer, Imported, LaunchSettings, LinkAnswer, MeasurementAnswer, Presets } from '../../web/source/border.js';",
  "import type { AnswerOf } from '../../web/source/explore/answers.js';",
  ...answers.flatMap(([type, texts], i) => texts.map((text, k) => `export const answer_${i}_${k}: ${type} = ${text};`)),
  `export const functions: Record<keyof Trainmem, true> = { ${functions.map((name) => `${name}: true`).join(', ')} };`,
];
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'answers.ts'), `${source.join('\n')}\n`);
const settings = { extends: '../../web/tsconfig.json', compilerOptions: { types: [] }, include: ['answers.ts'] };
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));

const run = spawnSync('web/node_modules/.bin/tsc', ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
const wrong = new Set();
for (const line of `${run.stdout ?? ''}${run.stderr ?? run.error}`.split('\n').filter((text) => text !== '')) {
  const at = Number(/answers\.ts\((\d+),/.exec(line)?.[1] ?? 0);
  wrong.add(at);
  console.log(`FAILED  ${/answer_\w+: [^=]+/.exec(source[at - 1] ?? '')?.[0] ?? ''} ${line.slice(0, 300)}`);
}
const checked = source.filter((line) => line.startsWith('export')).length;
console.log(`${checked - wrong.size} passed, ${wrong.size} failed`);
process.exit(wrong.size ? 1 : 0);
