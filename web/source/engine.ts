// Loads the engine and speaks JSON with it.
//
// All elements of a page share one engine: one fetch, one compilation. Its code comes in two modules; the second is
// fetched when something needs it. After a trap the instance cannot be trusted, nor after a call that broke off because
// the second module was not there: a fresh one takes its place, and the page asks again.

import type { Trainmem } from '@engine';
import restAddress from '@engine-rest';
import firstAddress from '@engine-wasm';
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
import { instantiate, type Modules, RestIsWanted } from './instance.js';

async function compile(address: string): Promise<WebAssembly.Module> {
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

const compileFirst = once(() => compile(firstAddress).catch(() => compile(firstAddress)));
const compileRest = once(() => compile(restAddress).catch(() => compile(restAddress)));

class Border implements Engine {
  readonly presets: Presets;
  readonly version: string;
  finish: (() => Promise<void>) | undefined;
  /** Set while no instance can be asked. */
  private stopped: EngineStopped | undefined;

  constructor(
    readonly modules: Modules,
    private instance: Trainmem,
  ) {
    this.presets = JSON.parse(instance.presets());
    this.version = instance.version();
    if (restAddress !== '') this.finish = once(() => this.addRest());
  }

  estimate(config: Config): Answer {
    return this.call(engine => engine.estimate(JSON.stringify(config)));
  }

  readLink(link: string): LinkAnswer {
    return this.call(engine => engine.read_link(link));
  }

  writeLink(config: Config): { ok: true; link: string } | BadAnswer {
    return this.call(engine => engine.write_link(JSON.stringify(config)));
  }

  writeComparison(a: Config, b: Config): { ok: true; link: string } | BadAnswer {
    return this.call(engine => engine.write_comparison(JSON.stringify(a), JSON.stringify(b)));
  }

  readSettings(text: string): Imported {
    return this.call(engine => engine.read_settings(text));
  }

  writeSettings(link: string): { ok: true; settings: LaunchSettings[] } | BadAnswer {
    return this.call(engine => engine.write_settings(link));
  }

  readMeasurement(json: string): MeasurementAnswer | BadAnswer {
    return this.call(engine => engine.read_measurement(json));
  }

  ask(name: QuestionName, ...words: (string | number)[]): string {
    return (this.instance[name] as (...all: (string | number)[]) => string)(...words);
  }

  private async addRest(): Promise<void> {
    this.modules.rest = await compileRest();
    await this.renew();
    this.finish = undefined;
  }

  private async renew(): Promise<void> {
    this.instance = await instantiate(this.modules);
    this.stopped = undefined;
  }

  private call<T>(ask: (engine: Trainmem) => string): T {
    if (this.stopped) throw this.stopped;
    try {
      return JSON.parse(ask(this.instance));
    } catch (error) {
      throw this.stop(error);
    }
  }

  private stop(error: unknown): EngineStopped {
    const unfinished = error instanceof RestIsWanted && this.finish !== undefined;
    const ready = unfinished ? this.finish!() : this.renew();
    this.stopped = new EngineStopped(error, ready, unfinished);
    if (unfinished) ready.catch(() => this.renew());
    return this.stopped;
  }
}

/** The engine trapped, or is `unfinished`. `ready` settles when a fresh instance has taken its place. */
export class EngineStopped extends Error {
  constructor(
    cause: unknown,
    readonly ready: Promise<void>,
    readonly unfinished: boolean,
  ) {
    super(`The engine stopped: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

const load = once(async () => {
  const modules = { first: await compileFirst() };
  return new Border(modules, await instantiate(modules));
});

/** The engine, loaded once; with `whole` also what a first visit does not need, fetched at the same time. */
export async function engine(whole: boolean): Promise<Engine> {
  if (whole && restAddress !== '') compileRest().catch(() => undefined);
  const loaded = await load();
  if (whole) await loaded.finish?.();
  return loaded;
}
