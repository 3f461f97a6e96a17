// Fits on: every GPU, sorted by what is left of its memory with this configuration.

import { css, html, nothing } from 'lit';
import type { Config, Preset } from '../border.js';
import { gigabytes } from '../format.js';
import { fold } from '../views/fold.js';
import type { SweepPoint } from './answers.js';
import { applyButton } from './apply_button.js';
import { fitBadge, marginWords } from './go_and_say.js';
import type { Explorer } from './panel.js';

type Good = Extract<SweepPoint, { ok: true }>;

/** What fits first, with the least to spare at the top: the smallest GPU that will do. Then what does not, nearest first. */
export function byMargin(points: readonly SweepPoint[]): Good[] {
  const known = points.filter((point): point is Good => point.ok && point.after.verdict.capacity > 0);
  const order = { fits: 0, tight: 1, does_not_fit: 2, unknown: 3 };
  return known.sort((a, b) => {
    const [one, other] = [a.after.verdict, b.after.verdict];
    if (one.fit !== other.fit) return order[one.fit] - order[other.fit];
    return one.margin < 0 ? other.margin - one.margin : one.margin - other.margin;
  });
}

const few = 8;

/**
 * TPUs are listed for their memory; the allocator and the kernels that are modelled are not theirs. PyTorch has no
 * collectives of Apple's GPUs, so one of them trains alone.
 */
export const runs = (gpus: number) => (gpu: Preset) =>
  gpu.vendor !== 'Google' && (gpus === 1 || gpu.vendor !== 'Apple');

export function fitsPanel(
  explorer: Explorer,
  config: Config,
  points: readonly SweepPoint[] | undefined,
  gpus: readonly Preset[],
  all: boolean,
  showAll: (all: boolean) => void,
) {
  const { units } = explorer;
  const present = config.gpu?.preset ?? '';
  const sorted = points ? byMargin(points) : [];
  const fitting = sorted.filter(point => point.after.verdict.fit === 'fits').length;
  const shown = all ? sorted : sorted.slice(0, few);
  const name = (id: string) => gpus.find(gpu => gpu.id === id)?.name ?? id;
  const body = () => html`<p class="lead">
      This configuration on every GPU${points ? `: it fits on ${fitting} of ${sorted.length}` : ''}.
      The smallest one that will do stands first.
    </p>
    ${
      points
        ? html`<table class="gpus">
              <thead>
                <tr>
                  <th scope="col">GPU</th>
                  <th scope="col">Usable</th>
                  <th scope="col">Verdict</th>
                  <th scope="col" class="left">Margin</th>
                  <th scope="col"><span class="visually-hidden">Action</span></th>
                </tr>
              </thead>
              <tbody>
                ${shown.map(
                  ({ value, after: { verdict } }) => html`<tr class=${value === present ? 'present' : ''}>
                    <th scope="row">${name(value)}</th>
                    <td>${gigabytes(verdict.capacity, units)}</td>
                    <td>${fitBadge(verdict)}</td>
                    <td class="left">${marginWords(verdict, units)}</td>
                    <td>
                      ${
                        value === present
                          ? html`<span class="muted">chosen</span>`
                          : applyButton(explorer, 'Use', name(value), { ...config, gpu: { preset: value } })
                      }
                    </td>
                  </tr>`,
                )}
              </tbody>
            </table>
            ${
              sorted.length > few
                ? html`<button type="button" class="button all" aria-expanded=${all} @click=${() => showAll(!all)}>
                    ${all ? 'Show fewer' : `Show all ${sorted.length}`}
                  </button>`
                : nothing
            }`
        : html`<p class="muted">Computing …</p>`
    }`;
  const gist = points
    ? `${fitting} of ${sorted.length} GPUs`
    : `each of ${gpus.filter(runs(explorer.good.result.num_gpus)).length} GPUs, the smallest that will do first`;
  return fold(explorer, 'fitson', 'Fits on', gist, body);
}

export const fitsStyles = css`
  .gpus {
    inline-size: 100%;
    border-collapse: collapse;
    font-size: 13.5px;
  }
  .gpus th,
  .gpus td {
    padding: 4px 12px 4px 0;
    border-block-end: 1px solid var(--hairline);
    font-weight: 450;
    text-align: start;
  }
  .gpus td {
    white-space: nowrap;
  }
  .gpus .fit {
    vertical-align: middle;
  }
  .gpus thead th {
    color: var(--muted);
    font-size: 12.5px;
  }
  .gpus .present th {
    font-weight: 680;
  }
  .gpus td:last-child {
    padding-inline-end: 0;
    text-align: end;
  }
  .all {
    margin-block-start: 12px;
  }
  @container (max-width: 560px) {
    .gpus th,
    .gpus td {
      padding-inline-end: 8px;
    }
    .gpus .left {
      display: none;
    }
  }
`;
