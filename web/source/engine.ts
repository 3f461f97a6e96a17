// Loads the engine and speaks JSON with it. The only file that knows WebAssembly.
//
// All elements of a page share one engine: one fetch, one compilation. After a trap the instance cannot be trusted,
// so it is dropped, a fresh one is made from the compiled module, and the call is tried once more.

import createTrainmem, { type Trainmem } from '@engine';
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

function instantiate(module: WebAssembly.Module): Promise<Trainmem> {
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

class Border implements Engine {
  readonly presets: Presets;
  readonly version: string;
  /** Set while a fresh instance is being made after a trap. */
  private recovering: Promise<void> | undefined;

  constructor(
    readonly module: WebAssembly.Module,
    private instance: Trainmem,
  ) {
    this.presets = JSON.parse(instance.presets());
    this.version = instance.version();
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

  private call<T>(ask: (engine: Trainmem) => string): T {
    try {
      return JSON.parse(ask(this.instance));
    } catch (error) {
      this.recovering ??= instantiate(this.module).then(fresh => {
        this.instance = fresh;
        this.recovering = undefined;
      });
      throw new EngineStopped(error, this.recovering);
    }
  }
}

/** The engine trapped. `ready` settles when a fresh instance has taken its place. */
export class EngineStopped extends Error {
  constructor(
    cause: unknown,
    readonly ready: Promise<void>,
  ) {
    super(`The engine stopped: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

async function load(): Promise<Engine> {
  const module = await compile().catch(compile);
  return new Border(module, await instantiate(module));
}

let shared: Promise<Engine> | undefined;

/** The engine, loaded once. A failed load is forgotten, so that the next call tries again. */
export function engine(): Promise<Engine> {
  shared ??= load().catch(error => {
    shared = undefined;
    throw error;
  });
  return shared;
}
