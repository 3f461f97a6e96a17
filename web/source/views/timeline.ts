// Memory over one training step: an area over the phases, with the capacity line and the peak.
//
// The horizontal axis is the order of events, not time. A range input lies over the drawing: it moves the cursor by
// pointer, touch and keyboard alike, and tells a screen reader what stands there.

import { css, html, nothing, svg, unsafeCSS } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { live } from 'lit/directives/live.js';
import type { ComponentName, Result, TimelinePoint } from '../border.js';
import { componentLabels, componentNames, phaseLabels, phaseShort, phaseWords } from '../components.js';
import { bytes, gigabytes, type Units, words } from '../format.js';
import type { TimelineColours } from '../url.js';
import { roundSizes } from './heights.js';
import { componentAreas, drawingOf, phaseAreas, phaseRules } from './timeline_areas.js';
import { oneOf } from './toolbar.js';
import type { View } from './view.js';

const colourings = [
  { value: 'phase', words: 'By phase' },
  { value: 'component', words: 'By component' },
] as const;

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
  const place = (parts.length > 1 ? parts.slice(1) : parts)
    .filter(part => !says(phase, part))
    .map(words)
    .join(', ');
  return html`<div class="readout">
    <p>
      <strong>${gigabytes(point.allocated, units)}</strong>
      <span class="swatch" data-phase=${point.phase}></span>
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
  const { units, timeline: colours } = view.calculator.state;
  return guard([result, units, view.cursor, colours], () => panel(view, result, units, colours));
}

function panel(view: View, result: Result, units: Units, colours: TimelineColours) {
  const drawing = drawingOf(result);
  const { points, bands, x, edges, peak } = drawing;
  const highest = points[peak]!.allocated;
  const { capacity } = result.verdict;
  const inView = capacity > 0 && capacity <= highest * 1.5;
  const top = Math.max(1, highest, inView ? capacity : 0) * 1.06;
  // The capacity is a height by itself; its words stand above its line, or below it near the top.
  const under = capacity > 0.88 * top;
  const heights = roundSizes(top, units).filter(
    ({ bytes }) => !inView || bytes > capacity + 0.1 * top || bytes < capacity - (under ? 0.23 : 0.1) * top,
  );
  const at = Math.min(view.cursor ?? peak, points.length - 1);
  const left = (index: number) => `inset-inline-start:${(x[index]! / 10).toFixed(3)}%`;
  const bottom = (value: number) => `inset-block-end:${((100 * value) / top).toFixed(3)}%`;
  const width = (index: number) => (edges[index + 1]! - edges[index]!) / 10;
  const byPhase = colours === 'phase';
  return html`<section class="panel" part="timeline" aria-label="Timeline">
    <div class="panelhead">
      <h3>Over one training step</h3>
      ${oneOf('timeline', 'Colours of the timeline', colourings, colours, timeline => view.calculator.setView({ timeline }))}
    </div>
    <p class="lead">
      Memory that tensors hold, event after event (the axis is order, not time), up to
      <span class="nowrap">${gigabytes(highest, units)}</span> in ${phaseWords[points[peak]!.phase]}.
      <span class="hint">Drag across it, or use the arrow keys.</span>
    </p>
    <div class="phases ${byPhase ? 'coloured' : ''}" aria-hidden="true">
      ${bands.map(
        (
          band,
          index,
        ) => html`<span data-phase=${band.phase} .style=${`inline-size:${width(index)}%`} title=${phaseLabels[band.phase]}
          ><b>${phaseShort[band.phase]}</b></span
        >`,
      )}
    </div>
    <div class="chart">
      <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
        ${guard([drawing, top, colours], () => (byPhase ? phaseAreas : componentAreas)(drawing, top))}
        ${edges.slice(1, -1).map(place => svg`<line class="bound" x1=${place} x2=${place} y1="0" y2="100" />`)}
      </svg>
      ${heights.map(
        size =>
          html`<div class="height" aria-hidden="true" .style=${bottom(size.bytes)}><span>${size.words}</span></div>`,
      )}
      ${
        inView
          ? html`<div class="ceiling ${under ? 'below' : ''}" .style=${bottom(capacity)}><span>${gigabytes(capacity, units)} usable</span></div>`
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
  ${unsafeCSS(phaseRules)}
  @media (forced-colors: active) {
    .phases span {
      forced-color-adjust: none;
      color: CanvasText;
    }
  }
  .panelhead {
    display: flex;
    flex-wrap: wrap;
    justify-content: space-between;
    gap: 8px 16px;
    margin-block-end: 8px;
  }
  .panelhead .oneof span {
    padding-inline: 10px;
  }
  .readout .swatch {
    display: inline-block;
    margin-inline-end: 2px;
  }
  .phases {
    display: flex;
    block-size: 28px;
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
    border-block-end: 4px solid var(--surface);
  }
  .phases.coloured span {
    border-block-end-color: var(--fill);
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
  .height {
    position: absolute;
    inset-inline: 0;
    border-block-start: 1px solid color-mix(in oklab, var(--ink) 22%, transparent);
    pointer-events: none;
  }
  .height span,
  .ceiling span {
    position: absolute;
    inset-inline-start: 8px;
    padding: 0 6px;
    border-radius: 5px;
    background: var(--surface);
  }
  .height span {
    inset-block-end: 2px;
    color: var(--muted);
    font-size: 11.5px;
  }
  .ceiling {
    position: absolute;
    inset-inline: 0;
    border-block-start: 2px dashed var(--bad);
    background: var(--surface);
    box-shadow: 0 0 0 1px var(--surface);
    pointer-events: none;
  }
  .ceiling span {
    inset-block-end: 3px;
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
    box-shadow: 0 0 0 1px var(--surface);
    opacity: 0.7;
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
      padding-inline: 2px 0;
      font-size: 11px;
    }
    .readout {
      min-block-size: 96px;
    }
    .readout li {
      white-space: normal;
    }
  }
  @container (max-width: 340px) {
    .phases span {
      padding-inline-start: 1px;
      font-size: 10.5px;
    }
  }
`;
