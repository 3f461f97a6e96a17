// Layouts of a number of GPUs that fit, best first. Asked for by a button.

import { css, html, nothing } from 'lit';
import type { Config, Engine, Summary } from '../border.js';
import { capitalized, gigabytes, percent, plural, words } from '../format.js';
import { formatNumber } from '../number_grammar.js';
import { optionLabels } from '../option_labels.js';
import { fold } from '../views/fold.js';
import type { Layout, Plan } from './answers.js';
import { applyButton } from './apply_button.js';
import { fitBadge, marginWords } from './go_and_say.js';
import { mostGpus } from './gpus.js';
import type { Explorer } from './panel.js';

export interface PlanState {
  text: string;
  message: string;
  busy: boolean;
  plan: Plan | undefined;
  /** The same training under frameworks that divide models in more ways. */
  others: readonly { framework: string; config: Config }[];
}

const dividing = ['torchtitan', 'megatron'];

/** Those under which the configuration can be computed; none where its own framework divides in every way. */
export function withOthers(engine: Engine, config: Config, framework: unknown, gpus: number): PlanState['others'] {
  if (gpus < 2 || dividing.includes(String(framework))) return [];
  return dividing
    .map(framework => ({ framework, config: { ...config, recipe: { ...config.recipe, framework } } }))
    .filter(other => engine.estimate(other.config).ok);
}

/** A number to begin with: those that there are; where those are one or too few, enough to hold what they would have to. */
export function gpusToTry({ num_gpus, device, verdict }: Summary, tooFew: boolean): number {
  if (num_gpus > 1 && !tooFew) return Math.min(mostGpus, num_gpus);
  const needed = verdict.capacity > 0 ? (num_gpus * device.expected) / verdict.capacity : 1;
  return Math.min(mostGpus, Math.max(8, num_gpus, 2 ** Math.ceil(Math.log2(needed))));
}

function division(layout: Layout): string {
  const parts: [string, number][] = [
    ['tensor', layout.tensor_parallel],
    ['pipeline', layout.pipeline_parallel],
    ['context', layout.context_parallel],
    ['expert', layout.expert_parallel],
    [layout.data_parallel.toUpperCase().replace('ZERO', 'ZeRO-'), layout.data_parallel_size],
  ];
  const divided = parts.filter(([, size]) => size > 1).map(([name, size]) => `${name} ${formatNumber(size)}`);
  return capitalized(divided.join(' \u00d7 ')) || 'One GPU';
}

/** As advice names it. */
const recomputed: Record<string, string> = {
  full: 'every block',
  selective_attention: 'core attention',
  selective_operations: 'cheap operations',
};

const sequences = (layout: Layout) =>
  layout.micro_batch_size * layout.gradient_accumulation_steps * layout.data_parallel_size;

/** Where the framework divides little, those that divide more are a click away; their layouts follow by themselves. */
function otherFrameworks(explorer: Explorer, others: PlanState['others']) {
  if (others.length === 0 || explorer.readonly) return nothing;
  return html`<p class="muted counted others">
    <span>Tensor, pipeline and context parallelism together:</span>
    ${others.map(({ framework, config }) => {
      const name = optionLabels[framework] ?? framework;
      return html`<button type="button" class="button" @click=${() => explorer.apply(config, name)}>Plan with ${name}</button>`;
    })}
  </p>`;
}

/** The layouts that were found, and how many were tried. */
function layoutsFound(explorer: Explorer, plan: Plan) {
  const { units, good } = explorer;
  if (plan.layouts.length === 0)
    return html`<p class="counted" role="status">
      None of ${plural(plan.tried, 'configuration')} of ${plural(plan.num_gpus, 'GPU')} fits. Try more GPUs, or take one
      of the ways under “What to change”.
    </p>`;
  const fewest = Math.min(...plan.layouts.map(sequences));
  return html`<p class="muted counted" role="status">
      ${plural(plan.fitting, 'layout')} of ${plural(plan.num_gpus, 'GPU')} ${plan.fitting === 1 ? 'fits' : 'fit'} with a
      global batch of ${plural(fewest, 'sequence')}; ${plural(plan.tried, 'configuration')} tried.
    </p>
    <ol class="layouts">
      ${plan.layouts.map(
        layout => html`<li>
          <div>
            <p><strong>${division(layout)}</strong></p>
            <p class="muted">
              ${layout.recomputation === 'none' ? 'No recomputation' : `Recomputes ${recomputed[layout.recomputation] ?? words(layout.recomputation)}, ${percent(layout.repeated_arithmetic, 1)} more arithmetic`},
              micro-batch ${layout.micro_batch_size}, ${plural(layout.gradient_accumulation_steps, 'step')} of
              accumulation${sequences(layout) > fewest ? `, global batch ${formatNumber(sequences(layout))}` : nothing}${
                layout.waiting > 0 ? `, pipeline bubble ${percent(layout.waiting, 1)}` : nothing
              }
            </p>
          </div>
          <p class="saves">
            <strong class="figure">${gigabytes(layout.after.device.expected, units)}</strong>
            <span title=${marginWords(layout.after.verdict, units)}>${fitBadge(layout.after.verdict)}</span>
          </p>
          ${layout.link === good.link ? html`<span class="muted">in use</span>` : applyButton(explorer, 'Use', division(layout), layout.config)}
        </li>`,
      )}
    </ol>
    ${
      plan.layouts.some(({ waiting }) => waiting > 0)
        ? html`<p class="muted counted">
            The pipeline bubble is the time in which stages wait, against that in which they work. More accumulation
            steps, so a larger global batch, make it smaller.
          </p>`
        : nothing
    }`;
}

export function planPanel(explorer: Explorer, state: PlanState, ask: (text: string) => void) {
  const submit = (event: Event) => {
    event.preventDefault();
    ask((event.target as HTMLFormElement).querySelector('input')!.value);
  };
  const body = () => html`<p class="lead">
      Every division of a number of GPUs into tensor, pipeline, context, expert and data parallelism, with the
      recomputation and micro-batch that suit it. What recomputes and waits least comes first, what is tight a little
      later.
    </p>
    <form class="ask" @submit=${submit}>
      <label for="plan-gpus">GPUs</label>
      <span class="box ${state.message ? 'wrong' : ''}">
        <input id="plan-gpus" type="text" inputmode="decimal" autocomplete="off" .value=${state.text} aria-invalid=${state.message ? 'true' : nothing} aria-describedby="plan-message" />
      </span>
      <button type="submit" class="button">${state.busy ? 'Searching …' : 'Find layouts'}</button>
      <p id="plan-message" class="wrongword" role="status">${state.message}</p>
    </form>
    ${state.plan ? html`${layoutsFound(explorer, state.plan)} ${otherFrameworks(explorer, state.others)}` : nothing}`;
  return fold(explorer, 'plan', 'Plan for many GPUs', 'layouts of any number of GPUs that fit, best first', body);
}

export const planStyles = css`
  .ask {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 12px;
    font-size: 13.5px;
  }
  .ask .box {
    display: flex;
    inline-size: 110px;
    block-size: 34px;
    background: var(--background);
    border: 1px solid var(--outline);
    border-radius: 7px;
  }
  .ask input {
    inline-size: 100%;
    padding: 0 9px;
    border: 0;
    border-radius: inherit;
    background: none;
    font-size: 14px;
  }
  .ask .wrong {
    border-color: var(--bad);
  }
  .others {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 12px;
  }
  .counted {
    margin-block-start: 10px;
    font-size: 13.5px;
  }
  .wrongword {
    color: var(--bad);
  }
  .layouts li {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto 7ch;
    gap: 4px 16px;
    align-items: center;
    padding-block: 8px;
    border-block-end: 1px solid var(--hairline);
    font-size: 13.5px;
    line-height: 1.4;
  }
  @container (max-width: 420px) {
    .layouts li {
      grid-template-columns: minmax(0, 1fr) auto;
    }
    .layouts li > div {
      grid-column: 1 / -1;
    }
    .layouts .saves {
      text-align: start;
    }
  }
  @media (pointer: coarse) {
    .ask .box {
      block-size: 44px;
    }
    .ask input {
      font-size: 16px;
    }
  }
`;
