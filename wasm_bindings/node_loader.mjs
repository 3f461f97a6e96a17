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
