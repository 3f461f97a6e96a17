// Loads the engine and speaks JSON with it.
//
// All elements of a page share one engine: one fetch, one compilation. On a first visit it answers from what the build
// recorded, and is fetched when something else is asked or `finish` is called. After a trap the instance cannot be
// trusted: a fresh one takes its place, and the page asks again.

import type { Trainmem } from '@engine';
import address from '@engine-wasm';
import type {
  Answer,
  BadAnswer,
  Config,
  Engine,
  Imported,
  LaunchSettings,
  LinkAnswer,
  MeasurementAnswer,
  Presets,
} from './border.js';
import type { QuestionName } from './explore/answers.js';
import type { Recorded } from './recorded.js';

type Instances = typeof import('./instance.js');

async function compile(): Promise<WebAssembly.Module> {
  const response = await fetch(address, { credentials: 'same-origin' });
  if (!response.ok)
    throw new Error(
      `${new URL(address, location.href).pathname} answered ${response.status} ${response.statusText}`.trim(),
    );
  // In the one-file page the module stands in its own address, compressed.
  const packed = address.startsWith('data:application/gzip');
  if (packed) {
    const unpacked = response.body!.pipeThrough(new DecompressionStream('gzip') as ReadableWritablePair);
    return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  }
  const streams = response.headers.get('content-type')?.startsWith('application/wasm');
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** What `make` promised, made once; a failure is forgotten, so that the next call tries again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch(error => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

type Question = Exclude<keyof Trainmem, 'presets' | 'version'>;

class Border implements Engine {
  presets!: Presets;
  version!: string;
  meanings: string | undefined;
  module: WebAssembly.Module | undefined;
  finish: (() => Promise<void>) | undefined = once(() => this.load());
  rehearse: ((questions: string[]) => void) | undefined;
  private instance: Trainmem | undefined;
  instances!: Instances;
  /** Set while no instance can be asked. */
  private stopped: EngineStopped | undefined;

  constructor(private recorded?: Recorded) {
    if (recorded) ({ presets: this.presets, version: this.version, meanings: this.meanings } = recorded);
  }

  estimate(config: Config): Answer {
    return this.call('estimate', JSON.stringify(config));
  }

  readLink(link: string): LinkAnswer {
    return this.call('read_link', link);
  }

  writeLink(config: Config): { ok: true; link: string } | BadAnswer {
    return this.call('write_link', JSON.stringify(config));
  }

  writeComparison(a: Config, b: Config): { ok: true; link: string } | BadAnswer {
    return this.call('write_comparison', JSON.stringify(a), JSON.stringify(b));
  }

  readSettings(text: string): Imported {
    return this.call('read_settings', text);
  }

  writeSettings(link: string): { ok: true; settings: LaunchSettings[] } | BadAnswer {
    return this.call('write_settings', link);
  }

  readMeasurement(json: string): MeasurementAnswer | BadAnswer {
    return this.call('read_measurement', json);
  }

  ask(name: QuestionName, ...words: (string | number)[]): string {
    return this.text(name, words);
  }

  known(name: string, ...words: (string | number)[]): unknown {
    return this.recorded?.answers[[name, ...words].join(' ')];
  }

  private async load(): Promise<void> {
    [this.module, this.instances] = await Promise.all([
      this.module ?? compile().catch(compile),
      import('./instance.js'),
    ]);
    await this.renew();
    this.presets ??= JSON.parse(this.instance!.presets());
    this.version ??= this.instance!.version();
    if (this.recorded) this.rehearse?.(Object.keys(this.recorded.answers));
    this.recorded = undefined;
    this.finish = undefined;
  }

  private async renew(): Promise<void> {
    this.instance = undefined;
    try {
      this.instance = await this.instances.instantiate(this.module!);
    } finally {
      this.stopped = undefined; // without an instance the next question asks for one
    }
  }

  private text(name: Question, words: (string | number)[]): string {
    return (this.instance![name] as (...all: (string | number)[]) => string)(...words);
  }

  private call<T>(name: Question, ...words: string[]): T {
    const known = this.known(name, ...words);
    if (known !== undefined) return known as T;
    if (this.finish) throw new EngineStopped('it is still to come', this.finish(), true);
    if (this.stopped) throw this.stopped;
    try {
      return JSON.parse(this.text(name, words));
    } catch (error) {
      this.stopped = new EngineStopped(error, this.renew(), false);
      throw this.stopped;
    }
  }
}

/** The engine trapped, or is `awaited`: not here yet. `ready` settles when an instance can be asked. */
class EngineStopped extends Error {
  constructor(
    cause: unknown,
    readonly ready: Promise<void>,
    readonly awaited: boolean,
  ) {
    super(`The engine stopped: ${cause instanceof Error ? cause.message : String(cause)}`);
    ready.catch(() => undefined); // whoever waits for it hears of it
  }
}

let shared: Border | undefined;

/** An engine that answers at once what is recorded. */
export function recordedEngine(recorded: Recorded): Engine {
  shared ??= new Border(recorded);
  return shared;
}

/** The engine, loaded once. Making the list of presets takes a while; one that is recorded saves it. */
export async function engine(recorded?: Recorded): Promise<Engine> {
  shared ??= new Border(recorded);
  await shared.finish?.();
  await shared.instances.turn();
  return shared;
}
