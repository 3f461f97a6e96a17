// The wasm engine in Node, for tests and benchmarks. The module is built for browsers, so its bytes are passed in.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const built = fileURLToPath(new URL('../build/wasm', import.meta.url));

/** @returns {Promise<import('./trainmem.d.ts').Trainmem>} `folder` has trainmem.js and trainmem.wasm. */
export async function loadEngine(folder = built) {
  const { default: createTrainmem } = await import(pathToFileURL(resolve(folder, 'trainmem.js')).href);
  return createTrainmem({ wasmBinary: await readFile(join(folder, 'trainmem.wasm')) });
}
