// A slider over powers of two beneath a number field: the quick way through sizes that double.

import { css, html, nothing } from 'lit';
import { live } from 'lit/directives/live.js';
import type { Field } from '../border.js';
import { fieldLabel } from '../fields.js';
import { formatNumber } from '../number_grammar.js';
import { fieldName } from '../option_labels.js';
import type { View } from './view.js';

/** Exponents of the least and the largest stop. Fields may hold more; the slider then stands at its end. */
const stops: Record<string, readonly [number, number]> = {
  micro_batch_size: [0, 8],
  sequence_length: [7, 20],
  gradient_accumulation_steps: [0, 10],
  data_parallel_size: [0, 14],
  tensor_parallel: [0, 6],
  pipeline_parallel: [0, 6],
  context_parallel: [0, 6],
  expert_parallel: [0, 8],
};

/** The stop nearest to a value, on the scale of doublings. */
export function stopOf(value: number, [least, most]: readonly [number, number]): number {
  return Math.min(most, Math.max(least, Math.round(Math.log2(Math.max(1, value)))));
}

export function slider(view: View, field: Field, value: unknown) {
  const range = field.path.startsWith('/recipe/') ? stops[fieldName(field)] : undefined;
  if (!range || typeof value !== 'number') return nothing;
  const unit = field.unit ? ` ${field.unit}` : '';
  return html`<input
    class="slider"
    type="range"
    min=${range[0]}
    max=${range[1]}
    step="1"
    aria-label="${fieldLabel(field)}, doubling"
    aria-valuetext="${formatNumber(value)}${unit}"
    .value=${live(String(stopOf(value, range)))}
    @input=${(event: Event) => view.calculator.set(field.path, 2 ** Number((event.target as HTMLInputElement).value))}
  />`;
}

export const sliderStyles = css`
  .field > .slider {
    grid-column: 3;
    inline-size: 100%;
    block-size: 24px;
    margin: 0;
    accent-color: var(--accent);
    cursor: pointer;
  }
  @media (pointer: coarse) {
    .field > .slider {
      block-size: 44px;
    }
  }
`;
