// What to change: three questions about the peak, and every change that saves memory, each one click.

import { css, html, nothing } from 'lit';
import { capitalized, gigabytes, percent, plural, type Units } from '../format.js';
import { breakable } from '../views/breakable.js';
import { fold } from '../views/fold.js';
import type { Advice, Changed, Cost, Diagnosis, Remedy, Suggestion } from './answers.js';
import { applyButton } from './apply_button.js';
import { fitBadge, marginWords, settingWords } from './go_and_say.js';
import type { Explorer } from './panel.js';

/** Cheapest first. */
const headings: Record<Cost, string> = {
  none: 'Costs nothing, or is faster',
  speed: 'Costs some speed',
  host: 'Uses host memory, slower',
  numbers: 'Other rounding, or another optimizer',
  adapters: 'Trains adapters in place of the model',
  gpus: 'Takes more GPUs, or puts them to another use',
};

function question({ units }: Explorer, { question: asked, yes, bytes, of, sentence }: Diagnosis) {
  // The engine's sentence speaks of GiB; its second half says more than the share at the peak.
  const rest =
    units === 'GiB'
      ? sentence.replace(/^(Yes|No): /, '')
      : `${gigabytes(bytes, units)} of ${gigabytes(of, units)} (${percent(bytes, of)}) at the peak.`;
  return html`<li>
    <p><strong>${asked}</strong></p>
    <p class="muted"><span class="yesno ${yes ? 'yes' : ''}">${yes ? 'Yes' : 'No'}</span> ${capitalized(rest.replaceAll(' %', '\u00a0%'))}</p>
  </li>`;
}

const hostWords = ({ after: { host } }: Changed, units: Units) =>
  host === undefined ? '' : ` ${gigabytes(host, units)} of host memory for each GPU.`;

function suggestion(explorer: Explorer, one: Suggestion) {
  const { units, fields, good } = explorer;
  const { after } = one;
  const more = after.num_gpus === good.result.num_gpus ? '' : `, on ${plural(after.num_gpus, 'GPU')}`;
  return html`<li class="suggestion">
    <div class="what">
      <p><strong>${one.title}</strong></p>
      <p>${one.meaning} <span class="muted">${breakable(one.cost_words)}${hostWords(one, units)}</span></p>
      <p class="sets muted">
        ${one.sets.map(set => settingWords(fields, set)).join(', ')}${one.source ? html`. <cite>${one.source}</cite>` : nothing}
      </p>
    </div>
    <p class="saves">
      <strong class="figure">−${gigabytes(one.saved, units)}</strong>
      <span class="muted">then ${gigabytes(after.device.expected, units)}${more}</span>
      <span title=${marginWords(after.verdict, units)}>${fitBadge(after.verdict)}</span>
    </p>
    ${applyButton(explorer, 'Apply', one.title, one.config)}
  </li>`;
}

/** Changes that fit together. Their titles are those of the suggestions below, which say what each is. */
function remedyItem(explorer: Explorer, one: Remedy) {
  const { units, fields, good } = explorer;
  const { after } = one;
  const words = one.changes.map(({ title }) => title).join(' + ');
  const prices = Object.keys(headings) as Cost[];
  const price = prices[Math.max(...one.changes.map(({ cost }) => prices.indexOf(cost)))]!;
  const gpus = after.num_gpus === good.result.num_gpus ? '' : `on ${plural(after.num_gpus, 'GPU')}`;
  return html`<li class="suggestion">
    <div class="what">
      <p><strong>${words}</strong></p>
      <p class="muted">${headings[price]}.</p>
      <p class="sets muted">${one.sets.map(set => settingWords(fields, set)).join(', ')}${hostWords(one, units)}</p>
    </div>
    <p class="saves">
      <strong class="figure">${gigabytes(after.device.expected, units)}</strong>
      ${gpus ? html`<span class="muted">${gpus}</span>` : nothing}
      <span title=${marginWords(after.verdict, units)}>${fitBadge(after.verdict)}</span>
    </p>
    ${applyButton(explorer, 'Apply', words, one.config)}
  </li>`;
}

const few = 6;
const everything = 'advice/all';

export function advicePanel(explorer: Explorer, advice: Advice | undefined, stale: boolean) {
  const all = advice?.suggestions ?? [];
  const whole = all.length <= few + 2 || explorer.open.has(everything);
  const shown = whole ? all : all.slice(0, few);
  const costs = [...new Set(shown.map(({ cost }) => cost))];
  const body = () => html`<p class="lead">
      Three questions about the peak, then every single change that saves memory, tried by the engine on this very
      configuration. Cheap ones come first.
    </p>
    ${
      advice
        ? html`<div class=${stale ? 'old' : ''}>
            <ul class="questions">${advice.diagnoses.map(one => question(explorer, one))}</ul>
            ${
              advice.remedies.length > 0
                ? html`<h4>What would ${explorer.good.result.verdict.fit === 'tight' ? 'give it room' : 'make it fit'}</h4>
                    <ul class="suggestions">${advice.remedies.map(one => remedyItem(explorer, one))}</ul>`
                : nothing
            }
            ${costs.map(
              cost => html`<h4>${headings[cost]}</h4>
                <ul class="suggestions">
                  ${shown.filter(one => one.cost === cost).map(one => suggestion(explorer, one))}
                </ul>`,
            )}
            ${
              whole
                ? nothing
                : html`<button type="button" class="button allchanges" @click=${() => explorer.toggle(everything)}>
                    Show all ${all.length} changes
                  </button>`
            }
            ${costs.length === 0 ? html`<p class="muted">No single change saves memory here.</p>` : nothing}
          </div>`
        : html`<p class="muted">Trying every change …</p>`
    }`;
  const gist = advice ? plural(advice.suggestions.length, 'change') : '';
  return fold(explorer, 'advice', 'What to change', gist, body, stale || !advice);
}

export const adviceStyles = css`
  .allchanges {
    margin-block-start: 12px;
  }
  .questions {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(240px, 100%), 1fr));
    gap: 14px 24px;
    font-size: 13.5px;
    line-height: 1.45;
  }
  .yesno {
    padding: 0 7px;
    border: 1px solid var(--outline);
    border-radius: 99px;
    font-size: 12px;
    font-weight: 640;
  }
  .yesno.yes {
    border-color: var(--warn);
    color: var(--warn);
  }
  h4 {
    margin-block: 18px 2px;
    color: var(--muted);
    font-size: 13px;
    font-weight: 620;
  }
  .suggestion {
    display: grid;
    grid-template-columns: minmax(0, 1fr) minmax(15ch, min-content) auto;
    gap: 4px 16px;
    align-items: center;
    padding-block: 9px;
    border-block-end: 1px solid var(--hairline);
    font-size: 13.5px;
    line-height: 1.42;
  }
  .what {
    text-wrap: pretty;
    overflow-wrap: anywhere;
  }
  .what strong {
    font-size: 14px;
  }
  .what cite {
    font-style: normal;
  }
  .sets {
    font-size: 12.5px;
  }
  .saves {
    display: grid;
    justify-items: end;
    text-align: end;
  }
  .saves .figure {
    font-size: 15px;
  }
  .saves .muted {
    font-size: 12.5px;
  }
  @container (max-width: 560px) {
    .suggestion {
      grid-template-columns: minmax(0, 1fr) auto;
    }
    .what {
      grid-column: 1 / -1;
    }
    .saves {
      justify-items: start;
      text-align: start;
    }
  }
`;
