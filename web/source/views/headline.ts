// The answer in one sentence, with its verdict.

import { css, html, nothing, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { GoodAnswer, Summary, Verdict } from '../border.js';
import { fitsWithoutCache, phaseWords } from '../components.js';
import { exactBytes, gigabytes, grouped, plural, type Units, words } from '../format.js';
import { bar, legend } from './bar.js';
import { icons } from './icons.js';
import type { View } from './view.js';

/** In a tight case that only fits without cached blocks the margin is not what is missing. */
const needsCacheFreed = ({ fit, margin }: Verdict) => fit === 'tight' && margin < 0;

export function verdictWords(verdict: Verdict, units: Units): string {
  const margin = gigabytes(Math.abs(verdict.margin), units);
  switch (verdict.fit) {
    case 'fits':
      return `Fits, ${margin} to spare`;
    case 'tight':
      if (!needsCacheFreed(verdict)) return `Tight: only ${margin} to spare`;
      return verdict.at_capacity?.requested ? 'Tight: may run out of memory' : 'Tight: fits if cached blocks are freed';
    case 'does_not_fit':
      return `Does not fit, ${margin} missing`;
    default:
      return 'No capacity to compare with';
  }
}

function marginWords(verdict: Verdict, units: Units): string {
  if (verdict.fit === 'unknown') return '';
  if (needsCacheFreed(verdict)) return 'Fits without cache';
  return `${gigabytes(Math.abs(verdict.margin), units)} ${verdict.margin < 0 ? 'missing' : 'to spare'}`;
}

export function verdictBadge(verdict: Verdict, units: Units, short = false) {
  const icon =
    verdict.fit === 'fits' ? icons.check() : verdict.fit === 'does_not_fit' ? icons.cross() : icons.warning();
  return html`<span class="verdict ${verdict.fit}">${icon}${(short ? marginWords : verdictWords)(verdict, units)}</span>`;
}

/** The total that decides: the device's, or what remains where cached blocks must go. */
export function need(result: Summary): [words: string, bytes: number] {
  return fitsWithoutCache(result) ? ['needs at least', result.least] : ['needs', result.device.expected];
}

/** How the allocator gets along with less than it would like. */
function withoutCache({ at_capacity }: Verdict, units: Units): string {
  const { limit = 0, requested = 0, allocated = 0, retries_of_last_step: times = 0 } = at_capacity ?? {};
  if (requested)
    return `${gigabytes(requested, units)} find no room beside ${gigabytes(allocated, units)} in use${allocated + requested > limit ? '' : ', as free memory lies in pieces'}`;
  return `it frees them ${times ? `${plural(times, 'time')} in every step, which costs time` : 'in the first steps'}`;
}

/** Between what, or why less than PyTorch would like. */
function rangeWords(result: Summary, units: Units) {
  const { device, reserved, allocated, verdict } = result;
  if (fitsWithoutCache(result))
    return html`With room PyTorch would take ${gigabytes(device.expected, units)}, of which
      ${gigabytes(reserved.expected - allocated, units)} are cached blocks that no tensor uses at that moment. Here
      ${withoutCache(verdict, units)}.`;
  const [low, high] = [gigabytes(device.low, units), gigabytes(device.high, units)];
  return low === high ? nothing : html`Likely between ${low} and ${high}.`;
}

export function headlineText(view: View, good: GoodAnswer): string {
  const { units } = view.calculator.state;
  const { verdict } = good.result;
  const capacity = verdict.capacity > 0 ? ` of ${gigabytes(verdict.capacity, units)}` : '';
  const [needs, bytes] = need(good.result);
  return `${view.calculator.state.subject} ${needs} ${gigabytes(bytes, units)}${capacity}. ${verdictWords(verdict, units)}.`;
}

/** "the backward pass, layer 31, MLP" */
function place({ peak_phase, peak_where }: Summary): string {
  const [head = '', ...rest] = peak_where.split(' / ').map(part => words(part));
  const phase = phaseWords[peak_phase];
  const others = [head.toLowerCase(), ...rest].filter(part => part !== '' && !`${phase} `.includes(` ${part} `));
  return [phase, ...others].filter((part, index, all) => part !== all[index - 1]).join(', ');
}

/** "Does not fit" says what would. Its place is kept while the engine still looks for it. */
function remedyLine(view: View, { fit }: Verdict) {
  if ((fit !== 'does_not_fit' && fit !== 'tight') || view.view !== 'full' || view.readonly) return nothing;
  if (view.calculator.stale) return nothing;
  const { remedy } = view.companion;
  const { units } = view.calculator.state;
  if (remedy === undefined) return html`<p class="remedy muted">Looking for what would help \u2026</p>`;
  if (remedy === null)
    return html`<p class="remedy">
      <span>No small set of changes makes it fit on this many GPUs.</span>
      <button type="button" class="button" @click=${() => view.goTo('#plan')}>Plan for more GPUs</button>
    </p>`;
  const titles = remedy.changes.map(({ title }) => title);
  const words = titles.join(' + ');
  // One line where there is room for one; "Other ways" has all of them.
  const few = titles.length > 3 ? `${titles.slice(0, 2).join(' + ')} + ${titles.length - 2} more` : words;
  const gpus = remedy.after.num_gpus > 1 ? ` on each of ${plural(remedy.after.num_gpus, 'GPU')}` : '';
  return html`<p class="remedy">
    <span>${fit === 'tight' ? 'What would give it room: ' : 'What would make it fit: '}<strong>${few}</strong>, then ${gigabytes(remedy.after.device.expected, units)}${gpus}.</span>
    <button type="button" class="button" aria-label="Apply: ${words}" @click=${() => view.companion.apply(remedy.config)}>
      Apply
    </button>
    <button type="button" class="quiet" @click=${() => view.goTo('#advice')}>Other ways</button>
  </p>`;
}

export function headline(view: View, result: Summary, withLegend: boolean, tools: TemplateResult) {
  const { units, subject } = view.calculator.state;
  const { stale, fetching } = view.calculator;
  const shown = [result, units, subject, stale, withLegend, view.view, view.readonly, view.companion.remedy];
  return html`<section class="panel answer" part="answer" id="answer" aria-label="Answer" aria-busy=${fetching}>
    <div class=${stale ? 'stale' : ''}>
      ${fetching ? html`<p class="fetching" role="status">Fetching the engine \u2026</p>` : nothing}
      ${stale ? html`<p class="stalemark">The last configuration that could be computed</p>` : nothing}
      ${guard(shown, () => answer(view, result, withLegend))} ${tools}
    </div>
  </section>`;
}

function answer(view: View, result: Summary, withLegend: boolean) {
  const { units } = view.calculator.state;
  const { verdict } = result;
  const gpus = result.num_gpus > 1 ? `On each of ${grouped(result.num_gpus)} GPUs` : 'On one GPU';
  const [needs, total] = need(result);
  return html`<div class="topline">
      <h2 class="headline">
        <span class="subject">${view.calculator.state.subject}</span> ${needs}
        <span class="total ${units}" title=${exactBytes(total)}>${gigabytes(total, units)}</span>
        ${verdict.capacity > 0 ? html`of ${gigabytes(verdict.capacity, units)}` : nothing}
      </h2>
      ${verdictBadge(verdict, units)}
    </div>
    <p class="under muted">
      ${gpus}, at the peak of a step: ${place(result)}.
      ${rangeWords(result, units)}
      ${result.host ? html`Another ${gigabytes(result.host, units)} for each GPU are in host memory.` : nothing}
      ${result.global_batch_size > 0 ? html`<span class="batch">Global batch ${plural(result.global_batch_size, 'sequence')}.</span>` : nothing}
    </p>
    ${remedyLine(view, verdict)} ${bar(view, result)} ${withLegend ? legend(view, result) : nothing}`;
}

export const headlineStyles = css`
  .answer {
    position: relative;
    padding-block: 22px 18px;
  }
  /* In the margin, so that nothing moves, and only where it takes a while. */
  .fetching {
    position: absolute;
    inset-block-start: 3px;
    color: var(--muted);
    font-size: 12px;
    font-weight: 600;
    line-height: 16px;
    animation: late 250ms step-end;
  }
  @keyframes late {
    from {
      visibility: hidden;
    }
  }
  .stale .segments {
    filter: saturate(0.2);
  }
  .stalemark {
    margin-block-end: 6px;
    color: var(--muted);
    font-size: 13px;
    font-weight: 600;
  }
  .waiting[aria-busy='true'] {
    min-block-size: 316px;
  }
  .topline {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 18px;
  }
  .headline {
    flex: 1 1 auto;
    font-size: clamp(22px, 1.1rem + 1.7cqi, 36px);
    font-weight: 380;
    line-height: 1.16;
    letter-spacing: -0.018em;
    text-wrap: balance;
  }
  .subject,
  .total {
    font-weight: 680;
  }
  .total {
    white-space: nowrap;
  }
  .verdict {
    display: inline-flex;
    align-items: center;
    gap: 7px;
    padding: 5px 12px 5px 9px;
    border-radius: 99px;
    color: var(--tone);
    background: color-mix(in oklab, var(--tone) 11%, var(--surface));
    font-size: 14px;
    font-weight: 640;
    white-space: nowrap;
  }
  @media (forced-colors: active) {
    .verdict {
      border: 1px solid;
    }
  }
  .verdict.fits {
    --tone: var(--good);
  }
  .verdict.tight {
    --tone: var(--warn);
  }
  .verdict.does_not_fit {
    --tone: var(--bad);
  }
  .verdict.unknown {
    --tone: var(--muted);
  }
  .under {
    max-inline-size: 128ch;
    margin-block: 8px 18px;
    font-size: 14px;
    text-wrap: pretty;
  }
  .remedy {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 6px 14px;
    min-block-size: 34px;
    margin-block: -8px 18px;
    font-size: 14px;
  }
  .slimholder {
    position: sticky;
    inset-block-start: 0;
    z-index: 5;
    block-size: 0;
  }
  @container (max-width: 420px) {
    .total.bytes {
      white-space: normal;
    }
    .topline .verdict {
      white-space: normal;
    }
    /* Room for two lines and the button, so that nothing below moves when they come. */
    .remedy {
      align-content: flex-start;
      min-block-size: 82px;
    }
    /* The answer comes first; the fields say it too. */
    .under .batch {
      display: none;
    }
  }
  @container (max-width: 560px) {
    .answer {
      padding-block: 18px 12px;
    }
    .under {
      margin-block-end: 16px;
      font-size: 13.5px;
    }
  }
`;
