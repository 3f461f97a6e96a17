// What one calculator knows at a moment; state.ts changes it.

import type { Config, Engine, GoodAnswer, Issue, SectionName } from './border.js';
import type { Units } from './format.js';
import type { TimelineColours } from './url.js';

export interface Draft {
  text: string;
  message: string;
}

export interface Remark {
  text: string;
  warning?: boolean;
  /** Words on the button that applies `config`. */
  action?: string;
  config?: Config;
}

export interface State {
  config: Config;
  engine?: Engine;
  /** Why there is no engine, or why it stopped. */
  failure?: string;
  good?: GoodAnswer;
  /** What the engine reads in the fields where it cannot compute it. */
  refused?: Config | undefined;
  /** The link of what stands in the fields, computable or not. */
  link: string;
  /** The presets of the last good answer. */
  goodPresets: { [name in SectionName]?: string };
  /** What the last good answer is about: the model's name. */
  subject: string;
  issues: Issue[];
  /** What was wrong with the link that was opened. */
  notice: Issue[];
  /** Something the page did on the reader's behalf. */
  remark?: Remark;
  /** Texts being typed that are not numbers yet. */
  drafts: Map<string, Draft>;
  /** Paths whose values differ from the presets. */
  edited: Set<string>;
  units: Units;
  /** What the colours of the timeline tell apart. */
  timeline: TimelineColours;
}
