// The wasm engine in Node, for tests and benchmarks. The module is built for browsers, so its bytes are passed in.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const glue = async folder => (await import(pathToFileURL(resolve(folder, 'trainmem.js')).href)).default;

/** @returns {Promise<import('./trainmem.d.ts').Trainmem>} */
export async function loadEngine(folder = 'build/wasm') {
  const createTrainmem = await glue(folder);
  return createTrainmem({ wasmBinary: await readFile(join(folder, 'trainmem.wasm')) });
}

/** The engine from an instance that the caller makes: `instantiate` gets the imports.
 *  @returns {Promise<import('./trainmem.d.ts').Trainmem>} */
export async function instantiateEngine(folder, instantiate) {
  const createTrainmem = await glue(folder);
  return new Promise((done, failed) => {
    createTrainmem({
      instantiateWasm(imports, ready) {
        instantiate(imports).then(ready, failed);
        return {};
      },
    }).then(done, failed);
  });
}

/** The engine as the page runs it: what a first visit needs and the rest, together.
 *  @returns {Promise<import('./trainmem.d.ts').Trainmem>} */
export async function loadHalves(folder = 'build/wasm') {
  const half = async name => WebAssembly.compile(await readFile(join(folder, name)));
  const [first, rest] = await Promise.all([half('trainmem_first.wasm'), half('trainmem_rest.wasm')]);
  return instantiateEngine(folder, async imports => {
    const missing = new Proxy({}, { get: () => () => { throw new Error('the rest took no place in the table'); } });
    const instance = await WebAssembly.instantiate(first, { ...imports, rest: missing });
    await WebAssembly.instantiate(rest, { first: instance.exports });
    return instance;
  });
}
