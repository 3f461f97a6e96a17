// What the engine answers to questions that cost many estimates. Names are those of engine/advice and border/sweep.h.

import type { ComponentBytes, Config, Issue, Range, Setting, Verdict } from '../border.js';

export interface Outcome {
  allocated: number;
  reserved: Range;
  device: Range;
  /** Weights, gradients and states in host memory, for each GPU; only where there are such. */
  host?: number;
  components: ComponentBytes;
  verdict: Verdict;
  num_gpus: number;
  parameters: number;
}

/** A configuration that differs in `sets`, and what it takes. */
export interface Changed {
  sets: Setting[];
  config: Config;
  link: string;
  after: Outcome;
}

export type Cost = 'none' | 'speed' | 'host' | 'numbers' | 'adapters' | 'gpus';

export interface ChangeWords {
  id: string;
  title: string;
  meaning: string;
  cost: Cost;
  cost_words: string;
  source: string;
}

export interface Suggestion extends ChangeWords, Changed {
  saved: number;
}

export interface Diagnosis {
  question: string;
  yes: boolean;
  bytes: number;
  of: number;
  sentence: string;
}

export interface Remedy extends Changed {
  changes: ChangeWords[];
}

export interface Advice {
  diagnoses: Diagnosis[];
  suggestions: Suggestion[];
  /** For each price the changes that make it fit, cheapest first; empty where it fits, or none was found. */
  remedies: Remedy[];
}

export interface Layout extends Changed {
  repeated_arithmetic: number;
  waiting: number;
  tensor_parallel: number;
  pipeline_parallel: number;
  context_parallel: number;
  expert_parallel: number;
  data_parallel: string;
  data_parallel_size: number;
  recomputation: string;
  micro_batch_size: number;
  gradient_accumulation_steps: number;
}

export interface Plan {
  num_gpus: number;
  tried: number;
  fitting: number;
  layouts: Layout[];
}

export type SweepPoint =
  | { value: string; ok: true; link: string; after: Outcome }
  | { value: string; ok: false; issues: Issue[] };

export type QuestionName = 'advice' | 'plan' | 'sweep';
export type Refused = { ok: false; issues: Issue[] };
export interface AnswerOf {
  advice: { ok: true; advice: Advice } | Refused;
  plan: { ok: true; plan: Plan } | Refused;
  sweep: { ok: true; points: SweepPoint[] } | Refused;
}
