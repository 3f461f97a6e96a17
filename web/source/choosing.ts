// What follows when a reader chooses a preset: a recipe brings or offers what it was written for, and a sequence that
// the model cannot take is shortened.

import type { SectionName } from './border.js';
import { changed } from './config_paths.js';
import { grouped } from './format.js';
import { bringOrigin, offerOrigin } from './recipe_origin.js';
import type { Calculator } from './state.js';

const sequencePath = '/recipe/sequence_length';

/** A preset takes the place of a whole section; the other sections stay. */
export function choose(calculator: Calculator, section: SectionName, id: string): void {
  calculator.withEngine(() => calculator.afterPaint(() => apply(calculator, section, id)));
}

function apply(calculator: Calculator, section: SectionName, id: string): void {
  const { state } = calculator;
  const tokens = Number(calculator.value(sequencePath));
  const { [section]: _, ...others } = state.config;
  state.config = id === '' ? others : { ...others, [section]: { preset: id } };
  if (section !== 'recipe') calculator.settled = true;
  for (const path of [...state.drafts.keys()]) if (path.startsWith(`/${section}/`)) state.drafts.delete(path);
  delete state.remark;
  if (section === 'recipe') bringOrOffer(calculator);
  else {
    calculator.compute();
    if (section === 'model') shortenSequence(calculator, tokens);
  }
  calculator.changed('choice');
}

/** A recipe brings its own model and GPU as long as nobody has said which; else they are offered. */
function bringOrOffer(calculator: Calculator): void {
  const { state, settled } = calculator;
  const brought = settled ? undefined : bringOrigin(state.engine!.presets, state.config);
  if (brought) state.config = brought.config;
  calculator.compute();
  shortenSequence(calculator, Number(calculator.value(sequencePath)));
  const remark = brought?.remark ?? offerOrigin(state.engine!.presets, state.config);
  if (remark) state.remark = remark;
}

/** A model with a table of positions cannot take longer sequences: the page follows, and says so. */
function shortenSequence(calculator: Calculator, wanted: number): void {
  const { state } = calculator;
  const only = () => state.issues.length > 0 && state.issues.every(issue => issue.path === sequencePath);
  const before = state.config;
  let length = Number(calculator.value(sequencePath));
  while (only() && length > 128) {
    length = Math.floor(length / 2);
    state.config = changed(before, sequencePath, length);
    calculator.compute();
  }
  if (state.issues.length > 0) {
    state.config = before;
    calculator.compute();
    return;
  }
  length = Number(calculator.value(sequencePath));
  if (length >= wanted) return;
  state.remark = {
    text: `This model cannot take ${grouped(wanted)} tokens; the sequence length is now ${grouped(length)}.`,
  };
}
