// Makes instances of the engine from its compiled module: for the page, and for the worker beside it.

import createTrainmem, { type Trainmem } from '@engine';

export function instantiate(module: WebAssembly.Module): Promise<Trainmem> {
  return new Promise((resolve, reject) => {
    createTrainmem({
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(module, imports).then(instance => done(instance, module), reject);
        return {};
      },
      print: () => {},
      printErr: () => {},
    }).then(resolve, reject);
  });
}
