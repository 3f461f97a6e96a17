// Asks the engine what costs many estimates, without holding up the page.
//
// Questions go to a worker. Each belongs to a slot, and of a slot only the newest counts: an older one that still
// waits is dropped, one that is being answered answers nobody. Where no worker can be had, as in a page of another
// origin or in one file on a disk, the engine of the page answers between two frames.

import type { Engine } from '../border.js';
import { scriptAddress } from '../script_address.js';
import type { AnswerOf, QuestionName } from './answers.js';
import type { Question } from './worker.js';
import address from './worker.js?worker&url';

interface Job extends Question {
  slot: string;
  settle(text: string | undefined): void;
}

export class Asker {
  private readonly waiting = new Map<string, Job>();
  private running: Job | undefined;
  private worker: Worker | undefined;
  private count = 0;
  private ready = false;
  private started = false;

  constructor(private readonly engine: Engine) {
    engine.rehearse = this.rehearse;
  }

  /**
   * Code of the engine is compiled where it first runs, for all of its instances: the worker answers what was recorded,
   * while the reader still looks around. Nobody waits for it.
   */
  private readonly rehearse = async (questions: string[]): Promise<void> => {
    if (!this.started) await this.start();
    for (const question of questions.filter(one => !one.startsWith('advice '))) {
      const [name, ...words] = question.split(' ');
      this.worker?.postMessage({ id: 0, name, words: [words.join(' ')] });
    }
  };

  /** The worker, and the engine for it. */
  private start(): Promise<void> {
    this.started = true;
    this.startWorker();
    return Promise.resolve(this.engine.finish?.()).then(
      () => {
        this.ready = true;
        this.worker?.postMessage(this.engine.module);
        this.next();
      },
      () => this.close(),
    );
  }

  private startWorker(): void {
    if (import.meta.url.startsWith('file:')) return;
    try {
      this.worker = new Worker(scriptAddress('trainmem-explore', new URL(address, import.meta.url).href), {
        type: 'module',
      });
      this.worker.addEventListener('message', ({ data }) => this.finish(data.id, data.text));
      this.worker.addEventListener('error', this.withoutWorker);
    } catch {
      this.worker = undefined;
    }
  }

  close(): void {
    this.started = false;
    this.worker?.terminate();
    for (const job of this.waiting.values()) job.settle(undefined);
    this.waiting.clear();
    this.running?.settle(undefined);
    this.running = undefined;
  }

  /** Nothing comes back if a newer question of the slot has been asked meanwhile, or the engine failed. */
  ask<Name extends QuestionName>(
    slot: string,
    name: Name,
    ...words: (string | number)[]
  ): Promise<AnswerOf[Name] | undefined> {
    this.forget(slot);
    const known = this.engine.known(name, ...words);
    if (known) return Promise.resolve(known as AnswerOf[Name]);
    if (!this.started) this.start();
    return new Promise(resolve => {
      const settle = (text: string | undefined) => resolve(text ? JSON.parse(text) : undefined);
      this.waiting.set(slot, { id: ++this.count, name, words, slot, settle });
      this.next();
    });
  }

  /** The slot's question no longer matters. */
  forget(slot: string): void {
    this.waiting.get(slot)?.settle(undefined);
    this.waiting.delete(slot);
    if (this.running?.slot === slot) this.running.settle(undefined);
  }

  private next(): void {
    if (this.running || !this.ready) return;
    const [job] = this.waiting.values();
    if (!job) return;
    this.waiting.delete(job.slot);
    this.running = job;
    const { id, name, words } = job;
    if (this.worker) this.worker.postMessage({ id, name, words });
    else setTimeout(() => this.finish(id, this.answerHere(job)));
  }

  private answerHere({ name, words }: Job): string {
    try {
      return this.engine.ask(name, ...words);
    } catch {
      return '';
    }
  }

  private finish(id: number, text: string): void {
    if (this.running?.id !== id) return;
    this.running.settle(text || undefined);
    this.running = undefined;
    this.next();
  }

  private withoutWorker = (): void => {
    this.worker?.terminate();
    this.worker = undefined;
    const { running } = this;
    if (running) setTimeout(() => this.finish(running.id, this.answerHere(running)));
  };
}
