// The published closed formulas beside the replayed step: a reader of any of them finds the number they know.

import { css, html, nothing } from 'lit';
import type { Result } from '../border.js';
import { exactBytes, gigabytes } from '../format.js';
import type { View } from './view.js';

export function textbook(view: View, result: Result) {
  if (result.textbook.length === 0) return nothing;
  const { units } = view.calculator.state;
  const scale = Math.max(result.allocated, ...result.textbook.map(line => line.bytes), 1);
  return html`<section class="panel" id="textbook" aria-label="Textbook">
    <h3>What the textbook formulas say</h3>
    <p class="lead">
      Each published formula exactly as its source gives it, beside the
      ${gigabytes(result.allocated, units)} that this step allocates (the line).
    </p>
    <ul class="formulas">
      ${result.textbook.map(
        line => html`<li>
          <div class="formulahead">
            <span class="method">${line.method}</span>
            <strong class="figure" title=${exactBytes(line.bytes)}>${gigabytes(line.bytes, units)}</strong>
          </div>
          <div class="formulabar">
            <div class="formulafill moves" .style=${`inline-size:${(100 * line.bytes) / scale}%`}></div>
            <div class="mark" .style=${`inset-inline-start:${(100 * result.allocated) / scale}%`}></div>
          </div>
          <p><code>${line.formula}</code></p>
          <p class="muted">${line.leaves_out ? html`Leaves out: ${line.leaves_out} ` : nothing}<cite>${line.source}</cite></p>
        </li>`,
      )}
    </ul>
  </section>`;
}

export const textbookStyles = css`
  .formulas {
    display: grid;
    gap: 16px;
    font-size: 13.5px;
    line-height: 1.5;
  }
  .formulas code {
    overflow-wrap: anywhere;
  }
  .formulas cite {
    font-style: normal;
  }
  .formulas .muted {
    max-inline-size: 80ch;
    font-size: 13px;
  }
  .formulahead {
    display: flex;
    justify-content: space-between;
    gap: 16px;
    font-size: 14px;
  }
  .method {
    font-weight: 620;
  }
  .formulabar {
    position: relative;
    block-size: 6px;
    margin-block: 4px 6px;
    border-radius: 3px;
    background: var(--sunken);
  }
  .formulafill {
    block-size: 100%;
    border-radius: 3px;
    background: var(--outline);
  }
  .mark {
    position: absolute;
    inset-block: -3px;
    inline-size: 2px;
    margin-inline-start: -2px;
    background: var(--ink);
  }
`;
