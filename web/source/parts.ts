// The parts of the calculator that a reader does not see first: fields, open lists, and what stands below the answer.
// One script, fetched once the answer is on the screen (later_parts.ts).

import { html, render, type TemplateResult } from 'lit';
import { whenIdle } from './after_paint.js';
import type { Result } from './border.js';
import './explore/explore.js';
import { ClosedPanels } from './views/closed.js';
import { controlStyles } from './views/controls.js';
import { foldStyles } from './views/fold.js';
import { fieldStyles } from './views/number_field.js';
import { drawnList, extend, list, listStyles, opened } from './views/picker_list.js';
import { explanation, rowStyles, rows } from './views/rows.js';
import { sliderStyles } from './views/slider.js';
import { stageStyles, stages } from './views/stages.js';
import { timeline, timelineStyles } from './views/timeline.js';
import type { View } from './views/view.js';

export { compactControls, controls } from './views/controls.js';
export { goTo } from './views/go_to.js';
export { drawnList, extend, list, opened };

export const styles = [
  fieldStyles,
  sliderStyles,
  controlStyles,
  timelineStyles,
  rowStyles,
  foldStyles,
  stageStyles,
  listStyles,
];

/** What one calculator shows below its answer. */
export function panelsOf(host: ConstructorParameters<typeof ClosedPanels>[0]): (result: Result) => TemplateResult {
  const closed = new ClosedPanels(host);
  return result => html`<div class="column">
    ${timeline(host, result)} ${stages(host, result)} ${rows(host, result)} ${host.companion.render()}
    ${closed.render(result)}
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
