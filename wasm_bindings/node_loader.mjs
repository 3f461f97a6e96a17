// The wasm engine in Node, for tests and benchmarks. The module is built for browsers, so its bytes are passed in.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** @returns {Promise<import('./trainmem.d.ts').Trainmem>} */
export async function loadEngine(folder = 'build/wasm') {
  const { default: createTrainmem } = await import(pathToFileURL(resolve(folder, 'trainmem.js')).href);
  return createTrainmem({ wasmBinary: await readFile(join(folder, 'trainmem.wasm')) });
}
