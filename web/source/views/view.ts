// What every view receives: the state, the actions, and the few things that belong to one element on one page.

import type { Preset, SectionName } from '../border.js';
import type { Companion } from '../companion.js';
import type { Calculator } from '../state.js';

/** The list of a picker while it is open. */
export interface PickerState {
  section: SectionName;
  query: string;
  active: number;
  matches: Preset[];
  /** Are all matches drawn, or those around the active one? */
  whole: boolean;
}

export interface View {
  calculator: Calculator;
  readonly companion: Companion;
  readonly: boolean;
  view: 'full' | 'compact' | 'bar';
  /** Component under the pointer, or '' */
  hot: string;
  point(name: string): void;
  /** Rows and groups of the table that stand open. */
  open: ReadonlySet<string>;
  toggle(id: string, open?: boolean): void;
  /** Position of the timeline's cursor; undefined: at the peak. */
  cursor: number | undefined;
  moveCursor(index: number | undefined): void;
  picker: PickerState | undefined;
  setPicker(picker: PickerState | undefined): void;
  /** Path of the field whose meaning is shown. */
  help: string;
  explain(path: string): void;
  fieldQuery: string;
  findField(query: string): void;
  /** Wide enough for all groups of knobs to stand open at first. */
  readonly roomy: boolean;
  copied: boolean;
  copyLink(): void;
  goTo(path: string): void;
}
