// GPU memory by capacity and bandwidth: GPUs as points, the chosen one marked, those with the same memory technology in
// its colour; below it the technologies themselves, by what one stack or chip gives. Axes are logarithmic. The tables
// say the same.

import { css, html, nothing, svg } from 'lit';
import { grouped, significant } from '../format.js';
import type { View } from '../views/view.js';
import { type GpuPoint, gpuPoints, type Technology, technologies } from './memory_data.js';

const width = 640;
const height = 350;
const margin = { left: 54, right: 16, top: 14, bottom: 46 };
const capacityTicks = [8, 16, 32, 64, 128, 256, 512];
const bandwidthTicks = [200, 500, 1000, 2000, 5000, 10000];
const capacityRange = [7, 640] as const;
const bandwidthRange = [160, 14000] as const;
/** Of one stack or chip. */
const unitRange = [16, 3200] as const;

function share(value: number, [low, high]: readonly [number, number]): number {
  return Math.log(value / low) / Math.log(high / low);
}
const x = (capacity: number) => margin.left + share(capacity, capacityRange) * (width - margin.left - margin.right);
const y = (rate: number) =>
  height - margin.bottom - share(rate, bandwidthRange) * (height - margin.top - margin.bottom);

const isHbm = (technology: string) => technology.startsWith('hbm');

function grid() {
  return svg`<g class="grid">
    ${bandwidthTicks.map(
      value => svg`<line x1=${margin.left} x2=${width - margin.right} y1=${y(value)} y2=${y(value)} />
        <text x=${margin.left - 7} y=${y(value) + 4} text-anchor="end">${value < 1000 ? value : `${value / 1000}k`}</text>`,
    )}
    ${capacityTicks.map(
      value => svg`<line x1=${x(value)} x2=${x(value)} y1=${margin.top} y2=${height - margin.bottom} />
        <text x=${x(value)} y=${height - margin.bottom + 19} text-anchor="middle">${value}</text>`,
    )}
    <text class="axisname" x=${width - margin.right} y=${height - 5} text-anchor="end">capacity, GiB</text>
    <text class="axisname" x=${margin.left + 7} y=${margin.top + 12}>bandwidth, GB/s</text>
  </g>`;
}

const titleOf = (gpu: GpuPoint) => `${gpu.name}: ${significant(gpu.capacity)} GiB, ${grouped(gpu.bandwidth)} GB/s`;

function point(gpu: GpuPoint, same: boolean) {
  const [left, top] = [x(gpu.capacity), y(gpu.bandwidth)];
  const kind = `gpu ${same ? 'same' : ''}`;
  return isHbm(gpu.technology)
    ? svg`<circle class=${kind} cx=${left} cy=${top} r="4.5"><title>${titleOf(gpu)}</title></circle>`
    : svg`<rect class=${kind} x=${left - 4} y=${top - 4} width="8" height="8"><title>${titleOf(gpu)}</title></rect>`;
}

function chosenPoint(gpu: GpuPoint) {
  const [left, top] = [x(gpu.capacity), y(gpu.bandwidth)];
  const end = left > width / 2;
  return svg`<g class="chosen">
    <circle cx=${left} cy=${top} r="8"><title>${titleOf(gpu)}</title></circle>
    <text x=${end ? left - 13 : left + 13} y=${top - 10} text-anchor=${end ? 'end' : 'start'}>${gpu.name}</text>
  </g>`;
}

function technologyRow({ id, name, unit, bandwidth: [low, high], capacity }: Technology, marked: string) {
  const from = 100 * share(low, unitRange);
  const text = `${significant(high, 4)} GB/s${capacity === undefined ? '' : `, ${significant(capacity)} GiB`}`;
  return html`<li class=${id === marked ? 'marked' : ''}>
    <span class="techname">${name.replace(/ \(.*\)/, '')}</span>
    <span class="techbar" aria-hidden="true"
      ><span .style=${`inset-inline-start:${from}%;inline-size:${Math.max(1, 100 * share(high, unitRange) - from)}%`}></span
    ></span>
    <span class="techfacts">${text} <span class="muted">a ${unit === 'stack' ? 'stack' : 'chip'}</span></span>
  </li>`;
}

function technologyTable(marked: string) {
  return html`<table>
    <caption>
      Memory technologies, of one stack or chip
    </caption>
    <thead>
      <tr>
        <th scope="col">Technology</th>
        <th scope="col">Standard</th>
        <th scope="col" class="figure">GB/s</th>
        <th scope="col" class="figure">GiB at most</th>
      </tr>
    </thead>
    <tbody>
      ${technologies.map(
        ({
          id,
          name,
          standard,
          unit,
          bandwidth: [low, high],
          capacity,
        }) => html`<tr class=${id === marked ? 'marked' : ''}>
          <th scope="row">${name}${id === marked ? html` <span class="muted">(the chosen GPU’s)</span>` : nothing}</th>
          <td>${standard}</td>
          <td class="figure">
            ${low === high ? high : `${low} to ${high}`} <span class="muted">a ${unit === 'stack' ? 'stack' : 'chip'}</span>
          </td>
          <td class="figure">${capacity === undefined ? 'not stated' : significant(capacity)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}

function gpuTable(points: readonly GpuPoint[], chosen: string | undefined) {
  const names = new Map(technologies.map(({ id, name }) => [id, name]));
  return html`<table>
    <caption>
      GPUs, fastest memory first
    </caption>
    <thead>
      <tr>
        <th scope="col">GPU</th>
        <th scope="col">Memory</th>
        <th scope="col" class="figure">GB/s</th>
        <th scope="col" class="figure">GiB</th>
      </tr>
    </thead>
    <tbody>
      ${[...points]
        .sort((a, b) => b.bandwidth - a.bandwidth)
        .map(
          gpu => html`<tr class=${gpu.id === chosen ? 'marked' : ''}>
            <th scope="row">${gpu.name}${gpu.id === chosen ? html` <span class="muted">(chosen)</span>` : nothing}</th>
            <td>${names.get(gpu.technology) ?? gpu.technology}</td>
            <td class="figure">${grouped(gpu.bandwidth)}</td>
            <td class="figure">${significant(gpu.capacity)}</td>
          </tr>`,
        )}
    </tbody>
  </table>`;
}

export function memoryChart(view: View) {
  const { engine, config } = view.calculator.state;
  const points = gpuPoints(engine?.presets.gpus ?? []);
  const chosen = points.find(gpu => gpu.id === config.gpu?.preset);
  const technology = technologies.find(({ id }) => id === chosen?.technology);
  const described = chosen ? `${titleOf(chosen)}.` : 'No GPU of the list is chosen.';
  return html`<div class="memorychart">
    <h4>GPU memory by capacity and bandwidth</h4>
    <p class="muted">
      Round points are GPUs with HBM, square ones with GDDR or LPDDR.
      ${technology ? html`Those with ${technology.name} are blue.` : nothing}
    </p>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="GPUs by memory capacity and bandwidth. ${described}">
      ${grid()} ${points.map(gpu => (gpu === chosen ? nothing : point(gpu, gpu.technology === chosen?.technology)))}
      ${chosen ? chosenPoint(chosen) : nothing}
    </svg>
    <h4>Memory technologies</h4>
    <p class="muted">What one stack or chip gives, from the slowest to the fastest that its standard or vendors name.</p>
    <ul class="technologies">
      ${technologies.map(each => technologyRow(each, technology?.id ?? ''))}
    </ul>
    <details>
      <summary>The same as tables</summary>
      <div class="scrolls" tabindex="0" role="region" aria-label="Memory technologies and GPUs">
        ${technologyTable(technology?.id ?? '')} ${gpuTable(points, chosen?.id)}
      </div>
    </details>
  </div>`;
}

export const memoryChartStyles = css`
  .memorychart svg {
    display: block;
    inline-size: 100%;
    max-inline-size: 760px;
    margin-block: 8px;
    background: var(--sunken);
    border-radius: 6px;
  }
  .memorychart text {
    fill: var(--muted);
    font: 11.5px var(--font);
  }
  .grid line {
    stroke: var(--hairline);
  }
  .gpu {
    fill: var(--surface);
    stroke: var(--outline);
    stroke-width: 1.75;
  }
  .gpu.same {
    fill: var(--accent);
    stroke: var(--surface);
    stroke-width: 1;
  }
  .chosen circle {
    fill: var(--bad);
    stroke: var(--surface);
    stroke-width: 2.5;
  }
  .memorychart .chosen text {
    fill: var(--ink);
    font-size: 14px;
    font-weight: 650;
    paint-order: stroke;
    stroke: var(--sunken);
    stroke-width: 5px;
  }
  .technologies {
    max-inline-size: 760px;
    margin-block: 8px;
    font-size: 13px;
  }
  .technologies li {
    display: grid;
    grid-template-columns: 78px minmax(0, 1fr) 210px;
    align-items: center;
    gap: 10px;
    padding-block: 2px;
  }
  .techbar {
    position: relative;
    block-size: 8px;
    border-radius: 4px;
    background: var(--sunken);
  }
  .techbar span {
    min-inline-size: 6px;
    position: absolute;
    block-size: 100%;
    border-radius: 4px;
    background: var(--outline);
  }
  .technologies .marked {
    font-weight: 650;
  }
  .technologies .marked .techbar span {
    background: var(--accent);
  }
  @container (max-width: 560px) {
    .memorychart text {
      font-size: 21px;
    }
    .memorychart .chosen text {
      font-size: 24px;
    }
    .technologies li {
      grid-template-columns: 78px minmax(0, 1fr);
    }
    .techfacts {
      grid-column: 2;
      margin-block-start: -6px;
    }
  }
`;
