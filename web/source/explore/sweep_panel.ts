// Memory as one setting varies: sequence length, micro-batch, GPUs, model size. Columns stacked by component, with the
// capacity and the place where it stops fitting; a column is a button that goes there.

import { html, nothing } from 'lit';
import type { Config, Fit } from '../border.js';
import { componentLabels, componentNames, componentSegments } from '../components.js';
import { bytes, gigabytes, grouped, type Units } from '../format.js';
import { fold } from '../views/fold.js';
import type { SweepPoint } from './answers.js';
import { fitBadge, fitWords } from './go_and_say.js';
import type { Explorer } from './panel.js';

export interface Axis {
  id: string;
  title: string;
  /** What the engine varies: a field, or /model. */
  path: string;
  values: readonly string[];
  /** In their place where the present value is smaller, or does not fit; where it is larger. */
  small?: readonly string[];
  large?: readonly string[];
  unit: string;
}

const powers = (from: number, to: number) =>
  Array.from({ length: Math.log2(to / from) + 1 }, (_, index) => String(from * 2 ** index));

export const axes: readonly Axis[] = [
  {
    id: 'sequence',
    title: 'Sequence lengths',
    path: '/recipe/sequence_length',
    values: powers(4096, 1048576),
    small: powers(512, 131072),
    unit: 'tokens',
  },
  {
    id: 'batch',
    title: 'Micro-batch sizes',
    path: '/recipe/micro_batch_size',
    values: powers(1, 256),
    unit: 'sequences',
  },
  {
    id: 'gpus',
    title: 'Numbers of GPUs',
    path: '/recipe/data_parallel_size',
    values: powers(1, 256),
    large: powers(128, 32768),
    unit: 'GPUs',
  },
  {
    id: 'model',
    title: 'Model sizes',
    path: '/model',
    values: [
      'smollm2-135m',
      'llama3.2-1b',
      'llama3.2-3b',
      'llama2-7b',
      'llama2-13b',
      'llama1-33b',
      'llama3.1-70b',
      'megatron-175b',
      'llama3.1-405b',
    ],
    unit: 'parameters',
  },
];

/** Values of an axis with the present one among them, in order; few enough that a finger finds each on a phone. */
export function valuesOf({ path, values, small, large }: Axis, present: string, fits: boolean): string[] {
  const below = !fits || Number(present) < Number(values[0]);
  const above = Number(present) > Number(values.at(-1));
  const among = (below && small) || (above && large) || values;
  if (path === '/model' || among.includes(present) || !/^\d+$/.test(present)) return [...among];
  return [...among, present].sort((a, b) => Number(a) - Number(b));
}

/** "8K", "1M" for powers of two, plain below. */
export function shortValue(value: string): string {
  const number = Number(value);
  if (!Number.isInteger(number)) return value;
  if (number >= 1048576 && number % 1048576 === 0) return `${number / 1048576}M`;
  return number >= 1024 && number % 1024 === 0 ? `${number / 1024}K` : String(number);
}

/** As the model's name has it, "405B"; where it has none, the count. */
export function shortSize(name: string, parameters: number): string {
  const [said] = name.match(/\d+(\.\d+)?[BM]\b/) ?? [];
  if (said) return said;
  return parameters >= 1e9 ? `${Math.round(parameters / 1e9)}B` : `${Math.round(parameters / 1e6)}M`;
}

const bytesOf = (point: SweepPoint) => (point.ok ? point.after.device.expected : 0);

const verdictIs = (point: SweepPoint, fit: Fit) => point.ok && point.after.verdict.fit === fit;
const fits = (point: SweepPoint) => verdictIs(point, 'fits') || verdictIs(point, 'tight');

/** What follows the last that fits: the first that does not, else the first that cannot be computed. */
export function stopsFitting(points: readonly SweepPoint[]): SweepPoint | undefined {
  const last = points.findLastIndex(fits);
  if (last < 0) return undefined;
  const beyond = points.slice(last + 1);
  return beyond.find(({ ok }) => ok) ?? beyond[0];
}

/** Where the chart stops fitting, in a sentence. */
export function said(sweep: Sweep, points: readonly SweepPoint[]): string {
  const edge = stopsFitting(points);
  const tight = points.filter(point => verdictIs(point, 'tight')).map(point => label(sweep, point));
  const margins = tight.length > 0 ? `Tight at ${tight.join(', ')}. ` : '';
  if (edge?.ok) return `${margins}Stops fitting at ${label(sweep, edge)}.`;
  if (edge) return `${margins}${label(sweep, edge)}: ${edge.issues[0]?.message ?? 'this cannot be computed.'}`;
  const first = points.findIndex(fits);
  if (first < 0) return 'None of these fits.';
  if (!points.slice(first).every(fits)) return margins;
  return `${margins}${first === 0 ? 'All of these fit.' : `Fits from ${label(sweep, points[first]!)} on.`}`;
}

/** Height of the chart in bytes: up to twice the capacity; columns beyond it are cut and say so. */
export function chartTop(points: readonly SweepPoint[], capacity: number): number {
  const highest = Math.max(...points.map(bytesOf), 1);
  const lowest = Math.min(...points.filter(point => point.ok).map(bytesOf), highest);
  return Math.min(highest, Math.max(2 * capacity, 1.5 * lowest)) * 1.04;
}

export interface Sweep {
  axis: Axis;
  /** The value that stands in the fields. */
  present: string;
  points: SweepPoint[] | undefined;
  names: ReadonlyMap<string, string>;
  /** Parameters of models, for those that cannot be computed too. */
  sizes: ReadonlyMap<string, number>;
  /** GPUs that hold the model together, of which the data-parallel size counts one. */
  together: number;
}

/** What is varied, in numbers that the reader counts: with tensor parallel 8, two copies of the model are 16 GPUs. */
const counted = ({ axis, together }: Sweep, { value }: SweepPoint) =>
  axis.path === '/recipe/data_parallel_size' ? Number(value) * together : Number(value);

export function label(sweep: Sweep, point: SweepPoint): string {
  const { axis, names } = sweep;
  if (axis.path === '/model') return names.get(point.value) ?? point.value;
  const number = counted(sweep, point);
  return `${grouped(number)} ${number === 1 ? axis.unit.replace(/s$/, '') : axis.unit}`;
}

function tick(sweep: Sweep, point: SweepPoint): string {
  const { axis, names, sizes } = sweep;
  if (axis.path !== '/model') return shortValue(String(counted(sweep, point)));
  const parameters = point.ok ? point.after.parameters : (sizes.get(point.value) ?? 0);
  return parameters > 0 ? shortSize(names.get(point.value) ?? '', parameters) : '\u2013';
}

function column(sweep: Sweep, point: SweepPoint, top: number, units: Units, go: () => void) {
  const present = point.value === sweep.present;
  const name = label(sweep, point);
  if (!point.ok) {
    const why = point.issues[0]?.message ?? 'It cannot be computed.';
    return html`<li><button type="button" class="column-button" aria-label="${name}: ${why}" title=${why} aria-disabled="true">
      <span class="stack none"></span><span class="tick">${tick(sweep, point)}</span>
    </button></li>`;
  }
  const { after } = point;
  const total = after.device.expected;
  const beside = total - after.allocated;
  const part = (bytes: number) => `${((100 * bytes) / top).toFixed(3)}%`;
  const words = `${name}: ${gigabytes(total, units)}, ${fitWords(after.verdict)}`;
  return html`<li class=${present ? 'present' : ''}>
    <button type="button" class="column-button" aria-label="${words}${present ? ', as it is now' : '. Go there'}" aria-current=${present ? 'true' : nothing} title=${words} @click=${go}>
      <span class="stack">
        ${componentSegments(after.components).map(
          segment =>
            html`<span class="slab" data-part=${segment.name} .style=${`block-size:${part(segment.bytes)}`}></span>`,
        )}
        <span class="slab" data-part="outside" .style=${`block-size:${part(beside)}`}></span>
        ${total > top ? html`<span class="cut">${bytes(total, units).replace(/(\d{3})\.\d+/, '$1')}</span>` : nothing}
      </span>
      <span class="tick">${tick(sweep, point)}</span>
    </button>
  </li>`;
}

function table(sweep: Sweep, points: readonly SweepPoint[], units: Units) {
  const shown = componentNames.filter(name => points.some(point => point.ok && point.after.components[name] > 0));
  return html`<details class="astable">
    <summary>As a table</summary>
    <div class="scroller" tabindex="0" role="region" aria-label="${sweep.axis.title}, as a table">
      <table>
        <thead>
          <tr>
            <th scope="col">${sweep.axis.title}</th>
            <th scope="col">Device</th>
            ${shown.map(name => html`<th scope="col">${componentLabels[name]}</th>`)}
            <th scope="col">Verdict</th>
          </tr>
        </thead>
        <tbody>
          ${points.map(point =>
            point.ok
              ? html`<tr>
                  <th scope="row">${label(sweep, point)}</th>
                  <td>${gigabytes(point.after.device.expected, units)}</td>
                  ${shown.map(name => html`<td>${gigabytes(point.after.components[name], units)}</td>`)}
                  <td>${fitBadge(point.after.verdict)}</td>
                </tr>`
              : html`<tr>
                  <th scope="row">${label(sweep, point)}</th>
                  <td colspan=${shown.length + 2}>${point.issues[0]?.message}</td>
                </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

function withValue(config: Config, axis: Axis, value: string): Config {
  if (axis.path === '/model') return { ...config, model: { preset: value } };
  const name = axis.path.split('/').at(-1)!;
  return { ...config, recipe: { ...config.recipe, [name]: Number(value) } };
}

export function sweepPanel(explorer: Explorer, config: Config, sweep: Sweep, choose: (axis: Axis) => void) {
  const { units } = explorer;
  const { capacity } = explorer.good.result.verdict;
  const { points, axis } = sweep;
  const top = points ? chartTop(points, capacity) : 1;
  const edge = points && stopsFitting(points);
  const room = capacity > 0 && capacity < top;
  const body =
    () => html`<p class="lead">The same configuration with one setting varied. Choose a column to go there.</p>
    <fieldset class="axes">
      <legend class="visually-hidden">What to vary</legend>
      ${axes.map(
        one => html`<label>
          <input type="radio" name="axis" value=${one.id} .checked=${one.id === axis.id} @change=${() => choose(one)} /><span>${one.title}</span>
        </label>`,
      )}
    </fieldset>
    <div class="sweep" aria-busy=${points === undefined}>
      ${
        points
          ? html`<ol class="columns-chart" aria-label=${axis.title}>
                ${points.map((point, index) => {
                  const go = () => {
                    if (!explorer.readonly && point.value !== sweep.present)
                      explorer.apply(withValue(config, axis, point.value), label(sweep, point));
                  };
                  return html`${column(sweep, point, top, units, go)}${edge?.ok && points[index + 1] === edge ? html`<li class="stop" aria-hidden="true"></li>` : nothing}`;
                })}
              </ol>
              ${
                room
                  ? html`<div class="line" aria-hidden="true" .style=${`inset-block-end:calc(26px + (100% - 26px) * ${(capacity / top).toFixed(4)})`}><span>${gigabytes(capacity, units)} usable</span></div>`
                  : nothing
              }`
          : html`<p class="muted">Computing …</p>`
      }
    </div>
    <p class="muted said" role="status">${points ? said(sweep, points) : nothing}</p>
    ${points ? table(sweep, points, units) : nothing}`;
  const gist = 'sequence length, micro-batch, GPUs, model size';
  return fold(explorer, 'sweeps', 'Sweep one setting', gist, body, points === undefined);
}
