// Memory over one training step: a stacked area over the phases, with the capacity line and the peak.
//
// The horizontal axis is the order of events, not time. A range input lies over the drawing: it moves the cursor by
// pointer, touch and keyboard alike, and tells a screen reader what stands there.

import { css, html, nothing, svg } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { live } from 'lit/directives/live.js';
import type { ComponentName, PhaseName, Result, TimelinePoint } from '../border.js';
import { componentLabels, componentNames, phaseLabels, phaseShort } from '../components.js';
import { bytes, gigabytes, type Units, words } from '../format.js';
import type { View } from './view.js';

interface Band {
  phase: PhaseName;
  from: number;
  to: number;
}

interface Drawing {
  points: TimelinePoint[];
  bands: Band[];
  /** Horizontal position of each point, 0 to 1000. */
  x: number[];
  peak: number;
}

/** Lays the phases side by side; a phase of few events still gets room for its name. */
function layOut(result: Result): Drawing {
  const points = result.timeline;
  const bands: Band[] = [];
  points.forEach((point, index) => {
    const last = bands.at(-1);
    if (last && last.phase === point.phase) last.to = index + 1;
    else bands.push({ phase: point.phase, from: index, to: index + 1 });
  });
  const least = 0.1 * Math.min(1, 8 / bands.length);
  const shares = bands.map(band => Math.max(least, (band.to - band.from) / points.length));
  const sum = shares.reduce((total, share) => total + share, 0);
  const x: number[] = [];
  let left = 0;
  bands.forEach((band, index) => {
    const width = (1000 * shares[index]!) / sum;
    for (let at = band.from; at < band.to; at++)
      x.push(left + (width * (at - band.from + 0.5)) / (band.to - band.from));
    left += width;
  });
  let peak = 0;
  points.forEach((point, index) => {
    if (point.allocated > points[peak]!.allocated) peak = index;
  });
  return { points, bands, x, peak };
}

let drawn: { result: Result; drawing: Drawing } | undefined;
function drawingOf(result: Result): Drawing {
  if (drawn?.result !== result) drawn = { result, drawing: layOut(result) };
  return drawn.drawing;
}

function areas({ points, x }: Drawing, top: number) {
  const floor = points.map(() => 0);
  const y = (value: number) => (100 - (100 * value) / top).toFixed(2);
  const edge = (index: number) => (index === 0 ? 0 : index === points.length - 1 ? 1000 : x[index]!).toFixed(1);
  return componentNames
    .filter(name => points.some(point => point.components[name] > 0))
    .map(name => {
      const lower = points.map((_, index) => `${edge(index)},${y(floor[index]!)}`);
      points.forEach((point, index) => {
        floor[index]! += point.components[name];
      });
      const upper = points.map((_, index) => `${edge(index)},${y(floor[index]!)}`);
      return svg`<polygon data-part=${name} points=${`${upper.join(' ')} ${lower.reverse().join(' ')}`} />`;
    });
}

function nearest(places: readonly number[], wanted: number): number {
  return places.reduce(
    (best, place, index) => (Math.abs(place - wanted) < Math.abs(places[best]! - wanted) ? index : best),
    0,
  );
}

function describe(point: TimelinePoint, units: Units): string {
  return `${phaseLabels[point.phase]}, ${point.where || 'start'}: ${gigabytes(point.allocated, units)}`;
}

/** Is it among the words of `phase`? */
const says = (phase: string, part: string) => ` ${phase.toLowerCase()} `.includes(` ${words(part)} `);

function readout(point: TimelinePoint, units: Units, atPeak: boolean) {
  const largest = componentNames
    .filter(name => point.components[name] > 0)
    .sort((a, b) => point.components[b] - point.components[a])
    .slice(0, 4);
  const phase = phaseLabels[point.phase];
  const parts = point.where.split(' / ');
  const place = (parts.length > 1 ? parts.slice(1) : parts).filter(part => !says(phase, part)).join(', ');
  return html`<div class="readout">
    <p>
      <strong>${gigabytes(point.allocated, units)}</strong>
      ${phase}${place ? html`, ${place}` : nothing}
      ${atPeak ? html`<span class="peakword">peak</span>` : nothing}
    </p>
    <ul>
      ${largest.map(
        (name: ComponentName) =>
          html`<li data-part=${name}><span class="swatch"></span>${componentLabels[name]} ${bytes(point.components[name], units)}</li>`,
      )}
    </ul>
  </div>`;
}

export function timeline(view: View, result: Result) {
  if (result.timeline.length === 0) return nothing;
  const { units } = view.calculator.state;
  return guard([result, units, view.cursor], () => panel(view, result, units));
}

function panel(view: View, result: Result, units: Units) {
  const drawing = drawingOf(result);
  const { points, bands, x, peak } = drawing;
  const highest = points[peak]!.allocated;
  const { capacity } = result.verdict;
  const inView = capacity > 0 && capacity <= highest * 1.5;
  const top = Math.max(1, highest, inView ? capacity : 0) * 1.06;
  const at = Math.min(view.cursor ?? peak, points.length - 1);
  const left = (index: number) => `inset-inline-start:${(x[index]! / 10).toFixed(3)}%`;
  const bottom = (value: number) => `inset-block-end:${((100 * value) / top).toFixed(3)}%`;
  const bounds = bands.map((_, index) => (index === 0 ? 0 : (x[bands[index]!.from]! + x[bands[index]!.from - 1]!) / 2));
  const width = (index: number) => ((bounds[index + 1] ?? 1000) - bounds[index]!) / 10;
  return html`<section class="panel" part="timeline" aria-label="Timeline">
    <h3>Over one training step</h3>
    <p class="lead">
      Memory that tensors hold, event after event (the axis is order, not time).
      <span class="hint">Drag across it, or use the arrow keys.</span>
    </p>
    <div class="phases" aria-hidden="true">
      ${bands.map(
        (band, index) => html`<span .style=${`inline-size:${width(index)}%`} title=${phaseLabels[band.phase]}
          ><b>${phaseShort[band.phase]}</b></span
        >`,
      )}
    </div>
    <div class="chart">
      <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
        ${guard([drawing, top], () => areas(drawing, top))}
        ${bounds.slice(1).map(place => svg`<line class="bound" x1=${place} x2=${place} y1="0" y2="100" />`)}
      </svg>
      ${
        inView
          ? html`<div class="ceiling ${capacity > 0.88 * top ? 'below' : ''}" .style=${bottom(capacity)}><span>${gigabytes(capacity, units)} usable</span></div>`
          : nothing
      }
      <div class="cursor" .style=${left(at)}></div>
      <div class="dot ${at === peak ? 'peak' : ''}" .style=${`${left(at)};${bottom(points[at]!.allocated)}`}></div>
      ${at === peak ? nothing : html`<div class="dot peak" .style=${`${left(peak)};${bottom(highest)}`}></div>`}
      <input
        type="range"
        min="0"
        max="1000"
        step="any"
        aria-label="Moment of the step"
        aria-valuetext=${describe(points[at]!, units)}
        .value=${live(String(x[at]))}
        @input=${(event: Event) => {
          const wanted = Number((event.target as HTMLInputElement).value);
          view.moveCursor(nearest(x, wanted));
        }}
        @keydown=${(event: KeyboardEvent) => {
          const moves: Record<string, number> = {
            ArrowLeft: at - 1,
            ArrowDown: at - 1,
            ArrowRight: at + 1,
            ArrowUp: at + 1,
            PageUp: at + 20,
            PageDown: at - 20,
            Home: 0,
            End: points.length - 1,
          };
          const next = moves[event.key];
          if (next === undefined) return;
          event.preventDefault();
          view.moveCursor(Math.max(0, Math.min(points.length - 1, next)));
        }}
        @pointermove=${(event: PointerEvent) => {
          if (event.pointerType !== 'mouse') return;
          const box = (event.currentTarget as Element).getBoundingClientRect();
          const wanted = (1000 * (event.clientX - box.left)) / box.width;
          const best = nearest(x, wanted);
          if (best !== at) view.moveCursor(best);
        }}
        @pointerleave=${(event: PointerEvent) => event.pointerType === 'mouse' && view.moveCursor(undefined)}
      />
    </div>
    ${readout(points[at]!, units, at === peak)}
    ${
      capacity > 0 && !inView
        ? html`<p class="muted note">The capacity of ${gigabytes(capacity, units)} lies far above this chart.</p>`
        : nothing
    }
  </section>`;
}

export const timelineStyles = css`
  .phases {
    display: flex;
    block-size: 24px;
    color: var(--muted);
    font-size: 12.5px;
    font-weight: 550;
  }
  /* A name that finds no room wraps out of sight. */
  .phases span {
    display: flex;
    flex: none;
    flex-wrap: wrap;
    padding-inline: 6px 2px;
    overflow: hidden;
    line-height: 24px;
    white-space: nowrap;
    border-inline-start: 1px solid var(--hairline);
  }
  .phases span::before {
    content: '';
    inline-size: 0;
    block-size: 24px;
  }
  .phases b {
    font-weight: inherit;
  }
  .chart {
    position: relative;
    block-size: 232px;
    border-block-end: 1px solid var(--outline);
    background: var(--sunken);
    border-radius: 6px 6px 0 0;
    overflow: hidden;
  }
  .chart:focus-within {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .chart svg {
    position: absolute;
    inset: 0;
    inline-size: 100%;
    block-size: 100%;
  }
  .chart polygon {
    fill: var(--fill);
    stroke: var(--surface);
    stroke-width: 0.75px;
    vector-effect: non-scaling-stroke;
  }
  .bound {
    stroke: var(--surface);
    stroke-width: 2px;
    stroke-opacity: 0.9;
    vector-effect: non-scaling-stroke;
  }
  .ceiling {
    position: absolute;
    inset-inline: 0;
    border-block-start: 2px dashed var(--bad);
    pointer-events: none;
  }
  .ceiling span {
    position: absolute;
    inset-inline-start: 8px;
    inset-block-end: 3px;
    padding: 0 6px;
    border-radius: 5px;
    background: var(--surface);
    font-size: 12px;
    font-weight: 600;
  }
  .ceiling.below span {
    inset-block: 5px auto;
  }
  .cursor {
    position: absolute;
    inset-block: 0;
    inline-size: 1px;
    background: var(--ink);
    opacity: 0.55;
    pointer-events: none;
  }
  .dot {
    position: absolute;
    inline-size: 10px;
    block-size: 10px;
    margin: 0 0 -5px -5px;
    border: 2px solid var(--surface);
    border-radius: 50%;
    background: var(--ink);
    pointer-events: none;
  }
  .dot.peak {
    background: var(--bad);
  }
  .chart input {
    position: absolute;
    inset: 0;
    inline-size: 100%;
    block-size: 100%;
    margin: 0;
    opacity: 0;
    cursor: crosshair;
    touch-action: pan-y;
  }
  .readout {
    min-block-size: 52px;
    padding-block-start: 10px;
    font-size: 14px;
  }
  .readout ul {
    display: flex;
    flex-wrap: wrap;
    gap: 2px 18px;
    margin-block-start: 3px;
    color: var(--muted);
    font-size: 13px;
  }
  .readout li {
    display: inline-flex;
    align-items: center;
    gap: 6px;
    white-space: nowrap;
  }
  .peakword {
    padding: 0 7px;
    border-radius: 99px;
    background: color-mix(in oklab, var(--bad) 12%, var(--surface));
    color: var(--bad);
    font-size: 12px;
    font-weight: 640;
  }
  .note {
    padding-block-start: 6px;
    font-size: 13px;
  }
  @container (max-width: 560px) {
    .chart {
      block-size: 190px;
    }
    .phases span {
      padding-inline-start: 3px;
      font-size: 11.5px;
    }
    .readout {
      min-block-size: 96px;
    }
  }
`;
