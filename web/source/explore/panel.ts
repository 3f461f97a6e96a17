// What every panel of the explore part receives.

import type { Config, Field, GoodAnswer } from '../border.js';
import type { Units } from '../format.js';
import type { Folds } from '../views/fold.js';
import type { Asker } from './asker.js';

export interface Explorer extends Folds {
  readonly asker: Asker;
  readonly good: GoodAnswer;
  readonly fields: readonly Field[];
  readonly units: Units;
  readonly readonly: boolean;
  /** Takes a configuration into the fields; `words` say what was done, beside the button that undoes it. */
  apply(config: Config, words: string): void;
}
