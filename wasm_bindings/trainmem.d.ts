// Types of trainmem.js, the engine compiled to WebAssembly. Every function takes and gives text, and never throws:
// answers are JSON, {"ok": true, ...} or {"ok": false, "issues": [{code, path, message, hint}]}.

export interface Trainmem {
  /** A configuration as JSON, or a calculator link. Answers {ok, result, config, link}. */
  estimate(request: string): string;
  /** The same request. Answers {ok, advice}: three questions about the peak, every change that saves memory. */
  advice(request: string): string;
  /** The same request and a number of GPUs. Answers {ok, plan}: layouts of them that fit, best first. */
  plan(request: string, numGpus: number): string;
  /** One field (a path) or preset (/model, /gpu, /recipe) set to each value, divided by commas. Answers {ok, points}. */
  sweep(request: string, path: string, values: string): string;
  /** A link or its fragment. Answers {ok, config, link}; config holds what differs from the presets. */
  read_link(link: string): string;
  /** A configuration as JSON. Answers {ok, link}: the canonical fragment, without the #. */
  write_link(configuration: string): string;
  /** Two configurations as JSON. Answers {ok, link}; read_link answers the second one, and the first as `against`. */
  write_comparison(a: string, b: string): string;
  /** A config.json, DeepSpeed JSON, torchtitan TOML, Megatron arguments, accelerate YAML, a configuration or a link.
   *  Answers {ok, format, sections, config, applied, unused}. */
  read_settings(text: string): string;
  /** A configuration as JSON, or a link. Answers {ok, settings: [{format, title, file, text, not_said}]}. */
  write_settings(request: string): string;
  /** What hbm_bandwidth --json printed. Answers {ok, bandwidth_gb_per_s, device, what}. */
  read_measurement(json: string): string;
  /** {models, gpus, recipes, fields}: every preset, and every field with its type, range, unit and meaning. */
  presets(): string;
  /** "0.1.0". */
  version(): string;
}

export interface TrainmemOptions {
  /** The bytes of trainmem.wasm, where they cannot be fetched (Node). */
  wasmBinary?: ArrayBuffer | Uint8Array;
  /** Address of a file that the glue asks for; gets "trainmem.wasm" and the folder of the glue. */
  locateFile?(path: string, prefix: string): string;
  instantiateWasm?(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module?: WebAssembly.Module) => void,
  ): object;
  onAbort?(what: unknown): void;
  print?(line: string): void;
  printErr?(line: string): void;
}

/** A fresh instance with its own memory. After a trap, drop it and make another. */
export default function createTrainmem(options?: TrainmemOptions): Promise<Trainmem>;
