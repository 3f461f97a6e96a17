// The engine's answers as they cross the border. Names are those of engine/result.h and engine/config.h.

export type Scalar = number | string | boolean;
/** One section of a configuration: an optional preset and the fields that differ from it. */
export type Section = { preset?: string; [field: string]: Scalar | Record<string, Scalar> | undefined };
export type SectionName = 'model' | 'gpu' | 'recipe';
/** What the reader chose: presets and differences only. */
export type Config = { [name in SectionName]?: Section };
/** Every field of every section, as the engine resolved it. */
export type ResolvedConfig = { [name in SectionName]: Section };

export interface Issue {
  code: string;
  path: string;
  message: string;
  hint: string;
  /** What the hint begins with, where that is one value of one field. */
  fix?: { path: string; value: Scalar };
}

export interface Range {
  low: number;
  expected: number;
  high: number;
}

export type ComponentName =
  | 'weights'
  | 'master_weights'
  | 'gradients'
  | 'optimizer_states'
  | 'activations'
  | 'logits_and_loss'
  | 'optimizer_temporaries'
  | 'gathered_parameters'
  | 'communication'
  | 'workspace';
export type ComponentBytes = Record<ComponentName, number>;
export type PhaseName = 'initialise' | 'forward' | 'reference' | 'loss' | 'backward' | 'optimizer_step';

export interface Row {
  name: string;
  shape: string;
  dtype: string;
  elements: number;
  element_bytes: number;
  copies: number;
  bytes: number;
  component: ComponentName;
  why: string;
  formula: string;
  source: string;
  kind: 'exact' | 'estimate' | 'measured';
}

export interface TimelinePoint {
  phase: PhaseName;
  where: string;
  allocated: number;
  components: ComponentBytes;
}

export interface PhasePeak {
  phase: PhaseName;
  peak: number;
  end: number;
  components: ComponentBytes;
}

export interface Stage {
  index: number;
  layers: number;
  micro_batches_in_flight: number;
  parameters: number;
  allocated: number;
  components: ComponentBytes;
  worst: boolean;
}

export interface RuntimeRow {
  name: string;
  bytes: Range;
  why: string;
  source: string;
}

export type Fit = 'fits' | 'tight' | 'does_not_fit' | 'unknown';

export interface Verdict {
  fit: Fit;
  capacity: number;
  margin: number;
  /** In words; advice that the build recorded goes without it. */
  sentence?: string;
  /** How the allocator gets along where it would reserve more than the GPU has. */
  at_capacity?: AtCapacity;
}

export interface AtCapacity {
  /** What the allocator may take. */
  limit: number;
  reserved: number;
  /** Times cached blocks are freed, and of them those of every step to come. */
  retries: number;
  retries_of_last_step: number;
  /** What there is no memory for; 0: it gets along. */
  requested: number;
  /** In use when that is asked for. */
  allocated: number;
}

export interface TextbookLine {
  method: string;
  formula: string;
  bytes: number;
  source: string;
  leaves_out: string;
}

export interface PhaseBandwidth {
  phase: PhaseName;
  /** Bytes read and written. */
  components: ComponentBytes;
  bytes: number;
  flops: number;
  recomputed_flops: number;
  arithmetic_seconds: number;
}

export interface PhaseTime {
  phase: PhaseName;
  memory_seconds: number;
  seconds: number;
  bound: 'memory' | 'arithmetic' | 'unknown';
}

export interface RateBandwidth {
  name: 'datasheet' | 'measured' | 'given';
  gb_per_s: number;
  ridge_point: number;
  phases: PhaseTime[];
  step_seconds: number;
  tokens_per_second: number;
  model_flops_utilization: number;
}

export interface Bandwidth {
  phases: PhaseBandwidth[];
  bytes: number;
  flops: number;
  flops_per_token: number;
  tokens: number;
  peak_flops_per_second: number;
  optimizer_source: string;
  /** The last one is in force. */
  rates: RateBandwidth[];
}

/** What the headline, the bar and its legend say. */
export interface Summary {
  allocated: number;
  reserved: Range;
  device: Range;
  /** What a run cannot do without: device memory without blocks that the allocator only caches. */
  least: number;
  /** Weights, gradients and states in host memory, for each GPU; only where there are such. */
  host?: number;
  peak_phase: PhaseName;
  peak_where: string;
  components: ComponentBytes;
  runtime: Pick<RuntimeRow, 'name' | 'bytes'>[];
  verdict: Verdict;
  num_gpus: number;
  global_batch_size: number;
}

export interface Result extends Summary {
  rows: Row[];
  phases: PhasePeak[];
  timeline: TimelinePoint[];
  stages: Stage[];
  runtime: RuntimeRow[];
  textbook: TextbookLine[];
  bandwidth: Bandwidth;
  parameters: number;
  active_parameters: number;
  trainable_parameters: number;
  not_counted: string[];
}

export interface GoodAnswer {
  ok: true;
  result: Result;
  config: ResolvedConfig;
  link: string;
}

/** One field that two configurations hold differently. */
export interface Setting {
  path: string;
  from: Scalar;
  to: Scalar;
}

export interface BadAnswer {
  ok: false;
  issues: Issue[];
  config?: Config;
  link?: string;
  /** What the fixes of the issues lead to, if they lead to an answer. */
  repair?: { sets: Setting[]; config: Config; link: string };
}

export type Answer = GoodAnswer | BadAnswer;
/** `against` is the first of two configurations. */
export type LinkAnswer = ({ ok: true; config: Config; link: string } | BadAnswer) & { against?: Config };

export interface MeasurementAnswer {
  ok: true;
  bandwidth_gb_per_s: number;
  device: string;
  what: string;
}

export interface Preset {
  id: string;
  name: string;
  [extra: string]: unknown;
}

export interface Field {
  /** JSON pointer: /recipe/tensor_parallel */
  path: string;
  /** Key in links and name in a sentence; answers that the build recorded go without them. */
  key?: string;
  name?: string;
  type: 'integer' | 'number' | 'boolean' | 'enumeration' | 'text';
  options?: string[];
  minimum?: number;
  maximum?: number;
  default?: Scalar;
  unit?: string;
  group?: string;
  meaning?: string;
}

export interface Presets {
  models: Preset[];
  gpus: Preset[];
  recipes: Preset[];
  fields: Field[];
}

/** A text of another program, as far as it could be used. */
export interface Imported {
  ok: boolean;
  format: string;
  issues?: Issue[];
  /** What the text describes; the rest of `config` is default. */
  sections: SectionName[];
  config: Config;
  applied: { key: string; value: string; path: string; set: string }[];
  unused: { key: string; value: string; why: string }[];
}

/** The configuration as the settings of one framework; `not_said` are paths that its format has no words for. */
export interface LaunchSettings {
  format: string;
  title: string;
  file: string;
  text: string;
  not_said: string[];
}

/** The engine as the rest of the page sees it: parsed answers, no text. */
export interface Engine {
  estimate(config: Config): Answer;
  readLink(link: string): LinkAnswer;
  writeLink(config: Config): { ok: true; link: string } | BadAnswer;
  writeComparison(a: Config, b: Config): { ok: true; link: string } | BadAnswer;
  readSettings(text: string): Imported;
  writeSettings(link: string): { ok: true; settings: LaunchSettings[] } | BadAnswer;
  readMeasurement(json: string): MeasurementAnswer | BadAnswer;
  /** A question that costs many estimates, as text; explore/asker.ts asks it beside the page. */
  ask(name: 'advice' | 'plan' | 'sweep', ...words: (string | number)[]): string;
  /** The answer to a question of a first visit, as long as the engine itself is not here. */
  known(name: string, ...words: (string | number)[]): unknown;
  /** Where to fetch what those fields mean that say nothing of it; absent where all do. */
  meanings?: string | undefined;
  /** Fetches the engine where only recorded answers are here; absent once it has come. */
  finish?: (() => Promise<void>) | undefined;
  /** Is told once, as the engine comes, what was recorded: `name argument` (explore/asker.ts). */
  rehearse?: ((questions: string[]) => void) | undefined;
  /** For an engine in a worker; here once the engine is. */
  readonly module: WebAssembly.Module | undefined;
  presets: Presets;
  version: string;
}
