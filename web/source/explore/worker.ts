// The engine a second time, in a worker: questions that cost many estimates, answered beside the page.
//
// The first message is the compiled module; each later one a question, {id, name, words}; answers are {id, text}.

import type { Trainmem } from '@engine';
import { instantiate } from '../instance.js';
import type { QuestionName } from './answers.js';

export interface Question {
  id: number;
  name: QuestionName;
  words: (string | number)[];
}

let module: WebAssembly.Module;
let instance: Promise<Trainmem> | undefined;

async function answer({ id, name, words }: Question): Promise<void> {
  try {
    instance ??= instantiate(module);
    const ask = (await instance)[name] as (...all: (string | number)[]) => string;
    postMessage({ id, text: ask(...words) });
  } catch {
    instance = undefined; // after a trap the instance cannot be trusted
    postMessage({ id, text: '' });
  }
}

addEventListener('message', ({ data }: MessageEvent<WebAssembly.Module | Question>) => {
  if (data instanceof WebAssembly.Module) module = data;
  else answer(data);
});
