// How fast a step can be at best: bytes it must move and arithmetic it must do, phase by phase, and what binds it.
// This file and what it imports are fetched after the first answer is on the screen.

import { css, html, nothing } from 'lit';
import type { Bandwidth, PhaseBandwidth, PhaseName, PhaseTime, RateBandwidth, Result } from '../border.js';
import { phaseLabels } from '../components.js';
import { bytes, capitalized, duration, percent, significant } from '../format.js';
import { thinBar } from '../views/bar.js';
import type { View } from '../views/view.js';
import { measurementStyles, ownMeasurement } from './measurement.js';
import { memoryChart, memoryChartStyles } from './memory_chart.js';

const rateNames: Record<RateBandwidth['name'], string> = {
  datasheet: 'Datasheet',
  measured: 'Measured',
  given: 'Yours',
};
const boundNames: Record<PhaseTime['bound'], string> = {
  memory: 'memory',
  arithmetic: 'arithmetic',
  unknown: 'not known',
};

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** "Forward and backward are bound by arithmetic, loss and optimizer step by memory." */
export function boundSentence(rate: RateBandwidth): string {
  const named = (bound: PhaseTime['bound']) =>
    rate.phases.filter(time => time.bound === bound).map(time => phaseLabels[time.phase].toLowerCase());
  const parts = (['arithmetic', 'memory'] as const)
    .map(bound => ({ bound, phases: named(bound) }))
    .filter(({ phases }) => phases.length > 0)
    .map(({ bound, phases }, index) => {
      const verb = index > 0 ? '' : phases.length > 1 ? ' are bound' : ' is bound';
      return `${list(phases)}${verb} by ${bound}`;
    });
  if (parts.length === 0) return '';
  const text = parts.join(', ');
  return `${capitalized(text)}.`;
}

function headline(step: Bandwidth, rate: RateBandwidth) {
  return html`<p class="atbest">
      <strong>${duration(rate.step_seconds)}</strong> a step at least, so at most
      <strong>${significant(rate.tokens_per_second, 4)} tokens/s</strong>${
        rate.model_flops_utilization > 0
          ? html` and <strong>${percent(rate.model_flops_utilization, 1)}</strong> of the GPU’s arithmetic peak (MFU)`
          : nothing
      }.
    </p>
    <p class="statement">
      ${boundSentence(rate)}
      ${
        rate.ridge_point > 0
          ? html`This GPU’s ridge point is ${significant(rate.ridge_point)} operations per byte: below it memory is the limit. The
            step has ${significant(step.flops / step.bytes)}.`
          : step.peak_flops_per_second > 0
            ? nothing
            : html`The arithmetic peak of this GPU in this number format is not known here.`
      }
    </p>`;
}

function phaseRow(phase: PhaseBandwidth, time: PhaseTime, most: number, view: View) {
  const { units } = view.calculator.state;
  const label: Record<PhaseName, string> = phaseLabels;
  return html`<tr>
    <th scope="row">${label[phase.phase]}</th>
    <td class="trafficbar"><div>${thinBar(phase.components, most, units)}</div></td>
    <td class="figure">${bytes(phase.bytes, units)}</td>
    <td class="figure ${time.bound === 'memory' ? 'binds' : ''}">${duration(time.memory_seconds)}</td>
    <td class="figure ${time.bound === 'arithmetic' ? 'binds' : ''}">
      ${phase.arithmetic_seconds > 0 ? duration(phase.arithmetic_seconds) : '\u2013'}
    </td>
    <td class="boundby">${boundNames[time.bound]}</td>
  </tr>`;
}

function phaseTable(view: View, step: Bandwidth, rate: RateBandwidth) {
  const most = Math.max(...step.phases.map(phase => phase.bytes), 1);
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Bytes and times by phase">
    <table class="traffic">
      <caption>
        What one GPU moves and computes, at ${significant(rate.gb_per_s, 4)} GB/s
      </caption>
      <thead>
        <tr>
          <th scope="col">Phase</th>
          <th scope="col" class="trafficbar"><span class="visually-hidden">By component</span></th>
          <th scope="col" class="figure">Moves</th>
          <th scope="col" class="figure">Memory</th>
          <th scope="col" class="figure">Arithmetic</th>
          <th scope="col" class="boundby">Bound by</th>
        </tr>
      </thead>
      <tbody>
        ${step.phases.map((phase, index) => phaseRow(phase, rate.phases[index]!, most, view))}
      </tbody>
    </table>
  </div>`;
}

function rateTable(step: Bandwidth) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Bandwidths">
    <table>
      <caption>
        At best, at each bandwidth that is known
      </caption>
      <thead>
        <tr>
          <th scope="col">Bandwidth</th>
          <th scope="col" class="figure">Rate</th>
          <th scope="col" class="figure">Step</th>
          <th scope="col" class="figure">Throughput</th>
          <th scope="col" class="figure">MFU</th>
        </tr>
      </thead>
      <tbody>
        ${step.rates.map(
          rate => html`<tr>
            <th scope="row">${rateNames[rate.name]}</th>
            <td class="figure">${significant(rate.gb_per_s, 4)} GB/s</td>
            <td class="figure">${duration(rate.step_seconds)}</td>
            <td class="figure">${significant(rate.tokens_per_second, 4)} tokens/s</td>
            <td class="figure">
              ${rate.model_flops_utilization > 0 ? percent(rate.model_flops_utilization, 1) : '\u2013'}
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function details(step: Bandwidth) {
  const recomputed = step.phases.reduce((sum, phase) => sum + phase.recomputed_flops, 0);
  return html`<details class="counted">
    <summary>What is counted</summary>
    <p class="muted">
      What outlives its phase, or is larger than any cache, is written once and read once; every matrix product reads its
      weight; gradients are added in memory; the optimizer passes over its tensors as its source does${
        step.optimizer_source ? html` (${step.optimizer_source})` : nothing
      }. Left out: smaller temporaries, collectives, launches, the bubble of a pipeline. So a real step takes longer.
    </p>
    <p class="muted">
      Arithmetic is that of matrix products and attention: ${significant(step.flops / 1e12, 4)} TFLOP on this
      GPU${recomputed > 0 ? html`, ${percent(recomputed, step.flops)} of it computed again in backward` : nothing}. Papers
      count 6N + 12LHQT operations a token (Chowdhery et al. 2022): here ${significant(step.flops_per_token / 1e9, 4)}
      GFLOP, with all of a causal mask, of which kernels skip half.
    </p>
  </details>`;
}

export function speed(view: View, result: Result) {
  const step = result.bandwidth;
  const rate = step.rates.at(-1);
  return html`<p class="lead">
      Capacity decides whether it fits, bandwidth how fast memory can be used. These are bounds: no step can be faster.
    </p>
    ${
      rate
        ? html`${headline(step, rate)} ${phaseTable(view, step, rate)} ${rateTable(step)} ${details(step)}`
        : html`<p>The memory bandwidth of this GPU is not known. Give it among the fields of the GPU, or measure it.</p>`
    }
    ${ownMeasurement(view)} ${memoryChart(view)}`;
}

export const speedStyles = [
  measurementStyles,
  memoryChartStyles,
  css`
    .atbest {
      font-size: 15.5px;
    }
    .statement {
      margin-block: 4px 12px;
      max-inline-size: 76ch;
      font-size: 13.5px;
    }
    #speed h4 {
      margin-block-start: 20px;
      font-size: 14px;
      font-weight: 640;
    }
    #speed p.muted {
      max-inline-size: 76ch;
      font-size: 13.5px;
    }
    #speed .scrolls {
      overflow-x: auto;
    }
    #speed table {
      inline-size: 100%;
      margin-block-end: 12px;
      border-collapse: collapse;
      font-size: 13.5px;
    }
    #speed caption {
      padding-block: 6px;
      color: var(--muted);
      font-size: 13px;
      text-align: start;
    }
    #speed :is(th, td) {
      padding: 5px 10px 5px 0;
      border-block-end: 1px solid var(--hairline);
      font-weight: 400;
      text-align: start;
      vertical-align: top;
    }
    #speed thead th {
      color: var(--muted);
      font-size: 12.5px;
    }
    #speed :is(th, td).figure {
      text-align: end;
    }
    #speed .binds,
    #speed .marked th {
      font-weight: 650;
    }
    .trafficbar {
      inline-size: 30%;
    }
    .trafficbar div {
      block-size: 14px;
    }
    #speed summary {
      display: inline-flex;
      align-items: center;
      min-block-size: 28px;
      color: var(--accent);
      font-size: 13.5px;
      text-decoration: underline;
      text-underline-offset: 0.18em;
      cursor: pointer;
    }
    @media (pointer: coarse) {
      #speed summary {
        min-block-size: 44px;
      }
    }
    .counted p {
      margin-block: 6px;
    }
    @container (max-width: 560px) {
      #speed .trafficbar,
      #speed .boundby {
        display: none;
      }
      #speed table {
        font-size: 12px;
      }
      #speed :is(th, td) {
        padding-inline-end: 5px;
      }
      #speed :is(th, td):last-child {
        padding-inline-end: 0;
      }
    }
    /* A figure's unit goes below it where both have no room. */
    @container (max-width: 340px) {
      #speed td.figure {
        white-space: normal;
      }
    }
  `,
];
