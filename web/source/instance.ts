// Makes instances of the engine from its two modules: the code that a first visit runs, and the rest, fetched later.
// wasm_bindings/split.mjs says how they fit together.

import createTrainmem, { type Trainmem } from '@engine';

export interface Modules {
  first: WebAssembly.Module;
  rest?: WebAssembly.Module;
}

/** A call reached code that is not here yet. It left the instance in the middle of its work: another takes its place. */
export class RestIsWanted extends Error {}

const missing = new Proxy(
  {},
  {
    get: () => () => {
      throw new RestIsWanted('the rest of the engine is still to come');
    },
  },
);

export function instantiate({ first, rest }: Modules): Promise<Trainmem> {
  return new Promise((resolve, reject) => {
    const start = async (imports: WebAssembly.Imports): Promise<WebAssembly.Instance> => {
      const instance = await WebAssembly.instantiate(first, { ...imports, rest: missing as WebAssembly.ModuleImports });
      if (rest) await WebAssembly.instantiate(rest, { first: instance.exports as WebAssembly.ModuleImports });
      return instance;
    };
    createTrainmem({
      instantiateWasm(imports, done) {
        start(imports).then(instance => done(instance, first), reject);
        return {};
      },
      print: () => {},
      printErr: () => {},
    }).then(resolve, reject);
  });
}
