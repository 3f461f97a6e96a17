// The parts of the calculator that a reader does not see first: fields, open lists, and what stands below the answer.
// One script, fetched once the answer is on the screen (later_parts.ts).

import { html, nothing, render, type TemplateResult } from 'lit';
import { whenIdle } from './after_paint.js';
import type { Result } from './border.js';
import './explore/explore.js';
import { ClosedPanels } from './views/closed.js';
import { controlStyles, controls } from './views/controls.js';
import { FocusKept } from './views/focus.js';
import { foldStyles } from './views/fold.js';
import { fieldStyles } from './views/number_field.js';
import { drawnList, list, listStyles, opened, press } from './views/picker_list.js';
import { explanation, rowStyles, rows } from './views/rows.js';
import { sliderStyles } from './views/slider.js';
import { slimStyles } from './views/slim_line.js';
import { stageStyles, stages } from './views/stages.js';
import { timeline, timelineStyles } from './views/timeline.js';
import type { View } from './views/view.js';

export { compactControls } from './views/controls.js';
export { goTo } from './views/go_to.js';
export { plainly } from './views/plainly.js';
export { slimLine } from './views/slim_line.js';
export { drawnList, list, opened, press };

export const styles = [
  fieldStyles,
  sliderStyles,
  controlStyles,
  timelineStyles,
  rowStyles,
  foldStyles,
  stageStyles,
  listStyles,
  slimStyles,
];

/** How many pieces follow the first fields: other fields, then what stands below the answer. */
export const pieces = 4;

export const fields = (view: View, drawn: number) => controls(view, drawn > 0);

/** What one calculator shows below its answer, as far as `drawn` pieces are there. */
export function panelsOf(
  host: ConstructorParameters<typeof ClosedPanels>[0],
): (result: Result, drawn: number) => TemplateResult {
  const closed = new ClosedPanels(host);
  new FocusKept(host);
  return (result, drawn) => html`<div class="column">
    ${drawn > 1 ? html`${timeline(host, result)} ${stages(host, result)}` : nothing} ${drawn > 2 ? rows(host, result) : nothing}
    ${drawn > 3 ? html`${host.companion.render()} ${closed.render(result)}` : nothing}
  </div>`;
}

/** What takes long where it is drawn for the first time is drawn out of sight, while the reader still looks around. */
export function rehearse(view: View): void {
  const draw = (content: () => unknown) => whenIdle(() => render(content(), document.createDocumentFragment()));
  const { engine, good } = view.calculator.state;
  if (engine && !view.readonly)
    for (const section of ['model', 'gpu', 'recipe'] as const) draw(() => list(view, opened(view, section)));
  const row = good?.result.rows[0];
  if (row) draw(() => explanation(row));
}
