// Makes instances of the engine from its compiled module: for the page, and for the worker beside it.

import createTrainmem, { type Trainmem } from '@engine';

export function instantiate(module: WebAssembly.Module): Promise<Trainmem> {
  return new Promise((resolve, reject) => {
    createTrainmem({
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(module, imports)
          .then(instance => done(instance, module))
          .catch(reject);
        return {};
      },
      print: () => {},
      printErr: () => {},
    }).then(resolve, reject);
  });
}

/** A task of its own; timers that follow each other wait four milliseconds. */
function nextTask(): Promise<void> {
  return new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(0);
  });
}

const elementsOfOneTask = 3;
let begun = 0;
let last = Promise.resolve();

/** Many elements begin a few at a time: the first are drawn, and what the reader does is heard, before the others. */
export function turn(): Promise<void> {
  const mine = last;
  begun += 1;
  if (begun % elementsOfOneTask === 0) last = last.then(nextTask);
  return mine;
}
