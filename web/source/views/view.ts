// What every view receives: the state, the actions, and the few things that belong to one element on one page.

import type { nothing, TemplateResult } from 'lit';
import type { Config, Preset, SectionName } from '../border.js';
import type { Remedy } from '../explore/answers.js';
import type { Calculator } from '../state.js';

/** The list of a picker while it is open. */
export interface PickerState {
  section: SectionName;
  query: string;
  active: number;
  matches: Preset[];
  /** How many of the matches are drawn: first those around the active one. */
  drawn: number;
}

/** What accompanies a calculator, as its views use it: history, comparison, remedy. */
export interface ViewCompanion {
  /** What would make it fit; undefined: not known yet, null: nothing does. */
  readonly remedy: Remedy | null | undefined;
  advised: { link: string; remedies: Remedy[] } | undefined;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  move(to: -1 | 1): void;
  /** The panels that try other configurations. */
  render(): TemplateResult | typeof nothing;
  /** A configuration that was offered; one entry in the browser's history. `applied` runs once it has its answer. */
  apply(config: Config, applied?: () => void): void;
  readonly comparing: boolean;
  /** Pins the configuration in the fields, or lets go of the one that was. */
  compare(on?: boolean): void;
  /** The pinned configuration and the one in the fields change places. */
  swap(): void;
}

export interface View {
  calculator: Calculator;
  readonly renderRoot: HTMLElement | DocumentFragment;
  readonly companion: ViewCompanion;
  /** Of what is not seen first, what a view that is seen first draws; undefined until it has come. */
  readonly parts:
    | { list(view: View, picker: PickerState): TemplateResult; plainly(view: View, text: string): string }
    | undefined;
  readonly: boolean;
  view: 'full' | 'compact' | 'bar';
  /** Component under the pointer, or '' */
  hot: string;
  point(name: string): void;
  /** Rows and groups of the table that stand open. */
  readonly open: ReadonlySet<string>;
  toggle(id: string, open?: boolean): void;
  /** Position of the timeline's cursor; undefined: at the peak. */
  cursor: number | undefined;
  moveCursor(index: number | undefined): void;
  picker: PickerState | undefined;
  setPicker(picker: PickerState | undefined): void;
  /** The list that is about to open, until its search box has the focus. */
  coming: { section: SectionName } | undefined;
  /** After the next paint. The key that opened it, and those that follow until then, are for the list. */
  openPicker(section: SectionName, key?: string): void;
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
