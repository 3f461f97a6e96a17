// Divides the engine in two: the code that a first visit to the page runs, and the rest, which the page fetches when it
// is first reached. Which is which is measured: wasm-split marks the functions that the calls below reach.
//
//   node wasm_bindings/split.mjs build/wasm    trainmem.wasm -> trainmem_first.wasm, trainmem_rest.wasm
//
// A function of the first half that needs one of the rest calls "rest"."..."; the rest takes its place in the table of
// functions when it is instantiated with the exports of the first half as "first". All data are in the first half.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { instantiateEngine } from './node_loader.mjs';

const [folder = 'build/wasm', split = 'wasm-split'] = process.argv.slice(2);
const at = name => join(folder, name);
const features = ['bulk-memory', 'sign-ext', 'nontrapping-float-to-int', 'mutable-globals'].map(name => `--enable-${name}`);

/** What a first visit asks: the page's own configuration, and a field edited that needs no other code. */
function visit(engine) {
  JSON.parse(engine.presets());
  engine.version();
  const first = { model: { preset: 'llama2-7b' }, gpu: { preset: 'h100-sxm' } };
  for (const recipe of [{}, { micro_batch_size: 2 }, { sequence_length: 2048 }, { gradient_accumulation_steps: 4 }]) {
    const answer = JSON.parse(engine.estimate(JSON.stringify({ ...first, ...(Object.keys(recipe).length && { recipe }) })));
    if (!answer.ok) throw new Error(`a first visit would find issues: ${JSON.stringify(answer.issues)}`);
    engine.read_link(answer.link);
  }
  engine.write_link(JSON.stringify(first));
}

/** Bytes that wasm-split wrote into the instrumented module: which functions were called. */
async function profile() {
  execFileSync(split, ['--instrument', ...features, at('trainmem.wasm'), '-o', at('instrumented.wasm')]);
  let instance;
  const engine = await instantiateEngine(folder, async imports => {
    ({ instance } = await WebAssembly.instantiate(readFileSync(at('instrumented.wasm')), imports));
    return instance;
  });
  visit(engine);
  const { exports } = instance;
  const memory = Object.values(exports).find(value => value instanceof WebAssembly.Memory);
  const size = exports.__write_profile(0, 0);
  const address = memory.grow(Math.ceil(size / 65536)) * 65536;
  exports.__write_profile(address, size);
  return new Uint8Array(memory.buffer, address, size);
}

writeFileSync(at('first.profile'), await profile());
execFileSync(split, [
  '--split', ...features, at('trainmem.wasm'), `--profile=${at('first.profile')}`,
  '-o1', at('trainmem_first.wasm'), '-o2', at('trainmem_rest.wasm'),
  '--import-namespace=first', '--placeholder-namespace=rest', '--export-prefix=%',
]);
rmSync(at('instrumented.wasm'));
// Alone, each half has functions that are smaller, or the same.
for (const half of [at('trainmem_first.wasm'), at('trainmem_rest.wasm')]) {
  execFileSync(split.replace(/split$/, 'opt'), ['-Oz', '--converge', ...features, half, '-o', half]);
}
