// Pipeline stages side by side: every stage's own peak, the worst one marked.

import { css, html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { Result } from '../border.js';
import { count, exactBytes, gigabytes, grouped, plural, type Units } from '../format.js';
import { thinBar } from './bar.js';
import type { View } from './view.js';

export function stages(view: View, result: Result) {
  if (result.stages.length < 2) return nothing;
  const { units } = view.calculator.state;
  return guard([result, units], () => panel(result, units));
}

function panel(result: Result, units: Units) {
  const scale = Math.max(...result.stages.map(stage => stage.allocated), 1);
  return html`<section class="panel" id="stages" aria-label="Pipeline stages">
    <h3>Pipeline stages</h3>
    <p class="lead">
      Allocated memory at each stage’s own peak. First stages hold more micro-batches in flight, the last one has the
      logits; the answer above is that of the worst stage.
    </p>
    <ol class="stages">
      ${result.stages.map(
        stage => html`<li class=${stage.worst ? 'worst' : ''}>
          <span class="stagename"
            >${stage.index}${stage.worst ? html`<span class="visually-hidden"> (the worst)</span>` : nothing}</span
          >
          <div
            class="stagebar"
            title="${plural(stage.layers, 'layer')}, ${count(stage.parameters)} parameters, ${stage.micro_batches_in_flight} in flight"
          >
            ${thinBar(stage.components, scale, units)}
          </div>
          <span class="figure" title=${exactBytes(stage.allocated)}>${gigabytes(stage.allocated, units)}</span>
          <span class="stagefacts muted"
            >${plural(stage.layers, 'layer')}, ${grouped(stage.micro_batches_in_flight)} in flight</span
          >
        </li>`,
      )}
    </ol>
  </section>`;
}

export const stageStyles = css`
  .stages {
    display: grid;
    gap: 5px;
    font-size: 13.5px;
  }
  .stages li {
    display: grid;
    grid-template-columns: 3ch minmax(0, 1fr) 9ch 19ch;
    align-items: center;
    gap: 12px;
  }
  .stagename {
    text-align: end;
    color: var(--muted);
  }
  .stagebar {
    block-size: 18px;
    background: var(--sunken);
    border-radius: 4px;
  }
  .stagefacts {
    font-size: 12.5px;
    white-space: nowrap;
  }
  .worst .stagename,
  .worst .figure {
    color: var(--bad);
    font-weight: 680;
  }
  @container (max-width: 720px) {
    .stages li {
      grid-template-columns: 3ch minmax(0, 1fr) 9ch;
      gap: 8px;
    }
    .stagefacts {
      display: none;
    }
  }
`;
