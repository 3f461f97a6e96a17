// The answer once more, as a slim line that stays in sight while editing.

import { css, html, nothing } from 'lit';
import type { GoodAnswer } from '../border.js';
import { gigabytes } from '../format.js';
import { thinBar } from './bar.js';
import { need, verdictBadge } from './headline.js';
import { icons } from './icons.js';
import type { View } from './view.js';

export function slimLine(view: View, good: GoodAnswer) {
  const { units } = view.calculator.state;
  const { device, verdict, components } = good.result;
  const [, total] = need(good.result);
  const scale = Math.max(device.expected, verdict.capacity, 1);
  return html`<div class="slim" aria-hidden="true">
    <div class="slimtext">
      <span class="name">${view.calculator.state.subject}</span>
      <strong>${gigabytes(total, units)}</strong>
      ${verdict.capacity > 0 ? html`<span class="muted">of ${gigabytes(verdict.capacity, units)}</span>` : nothing}
      ${
        view.calculator.stale
          ? html`<span class="verdict tight">${icons.warning()}not computed</span>`
          : verdictBadge(verdict, units, true)
      }
    </div>
    <div class="slimbar">
      ${thinBar(components, scale, units)}
      ${
        device.expected > verdict.capacity && verdict.capacity > 0
          ? html`<div class="capacity" .style=${`inset-inline-start:${(100 * verdict.capacity) / scale}%`}></div>`
          : nothing
      }
    </div>
  </div>`;
}

export const slimStyles = css`
  .slim {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 6px;
    padding: 9px 14px 10px;
    background: var(--surface);
    border: 1px solid var(--hairline);
    border-block-start: 0;
    border-radius: 0 0 var(--radius) var(--radius);
    box-shadow: 0 6px 22px light-dark(rgb(0 0 0 / 0.09), rgb(0 0 0 / 0.5));
  }
  .slimtext {
    display: flex;
    align-items: baseline;
    gap: 8px;
    font-size: 14px;
    white-space: nowrap;
  }
  .slimtext .name {
    overflow: hidden;
    text-overflow: ellipsis;
    font-weight: 550;
  }
  .slimtext .verdict {
    align-self: center;
    margin-inline-start: auto;
    padding-block: 1px;
    font-size: 13px;
  }
  .slimbar {
    position: relative;
    block-size: 8px;
    border-radius: 4px;
    background: var(--sunken);
  }
  .slimbar .capacity {
    inset-block: -2px;
  }
  @container (max-width: 420px) {
    .slimtext {
      flex-wrap: wrap;
    }
    .slimtext .muted {
      display: none;
    }
  }
  @container (max-width: 560px) {
    .slim {
      margin-inline: -1px;
    }
    .slimtext .name {
      display: none;
    }
  }
`;
