// The stacked bar: everything the device holds, to scale with its capacity.

import { css, html, nothing } from 'lit';
import type { ComponentBytes, Section, Summary } from '../border.js';
import { componentSegments, deviceSegments, fitsWithoutCache, type Segment } from '../components.js';
import { allUnits, asNumber, bytes, exactBytes, gigabytes, percent, type Units } from '../format.js';
import type { View } from './view.js';

const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(4)}%`;

/** The part of the segment that lies before a line at `at`: 0 to 1. */
function before(segments: readonly Segment[], index: number, at: number): number {
  const start = segments.slice(0, index).reduce((sum, one) => sum + one.bytes, 0);
  return Math.min(1, Math.max(0, (at - start) / segments[index]!.bytes));
}

export function segmentsOf(segments: Segment[], scale: number, units: Units, labels: boolean, line = 0) {
  return segments.map((segment, index) => {
    // A label stands beside the line, on the side that has more room.
    const left = labels ? before(segments, index, line) : 1;
    return html`<div
      class="segment ${left > 0 && left < 0.5 ? 'crossed' : ''}"
      data-part=${segment.name}
      title="${segment.label}: ${bytes(segment.bytes, units)} (${exactBytes(segment.bytes)})"
      .style=${`inline-size:${share(segment.bytes, scale)};--room:${share(Math.max(left, 1 - left), 1)}`}
    >
      ${labels ? html`<span class="side"><span class="plate ${segment.label.length > 15 ? 'long' : segment.label.length > 9 ? 'middle' : ''}">${segment.label}</span></span>` : nothing}
    </div>`;
  });
}

/** Moving on to a part, not a part that comes to lie under the pointer. */
const hover = (view: View) => (event: PointerEvent) =>
  view.point((event.target as Element).closest('[data-part]')?.getAttribute('data-part') ?? '');

export function sentence(result: Summary, units: Units): string {
  const parts = deviceSegments(result).map(segment => `${segment.label} ${bytes(segment.bytes, units)}`);
  return `Memory at the peak: ${parts.join(', ')}.`;
}

export function bar(view: View, result: Summary) {
  const { units, good } = view.calculator.state;
  const { capacity } = result.verdict;
  const visible = asNumber((good?.config.gpu as Section | undefined)?.driver_visible_bytes);
  const total = result.device.expected;
  const scale = Math.max(total, capacity);
  const over = capacity > 0 && total > capacity;
  return html`<div class="barbox">
    <div class="track" role="img" aria-label=${sentence(result, units)} @pointermove=${hover(view)} @pointerleave=${() => view.point('')}>
      ${capacity > 0 ? html`<div class="room" .style=${`inline-size:${share(capacity, scale)}`}></div>` : nothing}
      <div class="segments">${segmentsOf(deviceSegments(result), scale, units, true, capacity)}</div>
      ${over ? html`<div class="excess ${fitsWithoutCache(result) ? 'cacheonly' : ''}" .style=${`inset-inline-start:${share(capacity, scale)}`}></div>` : nothing}
      ${capacity > 0 ? html`<div class="capacity" .style=${`inset-inline-start:${share(capacity, scale)}`}></div>` : nothing}
    </div>
    ${
      capacity > 0
        ? html`<div class="axis" aria-hidden="true">
            <span class=${capacity / scale > 0.5 ? 'before' : ''} .style=${`inset-inline-start:${share(capacity, scale)}`}
              >${allUnits(capacity, units)} usable${
                visible > 0 ? html`<small>, driver shows ${gigabytes(visible, units)}</small>` : nothing
              }</span
            >
          </div>`
        : nothing
    }
  </div>`;
}

export function legend(view: View, result: Summary) {
  const { units } = view.calculator.state;
  return html`<ul class="legend ${units}" @pointermove=${hover(view)} @pointerleave=${() => view.point('')}>
    ${deviceSegments(result).map(
      segment => html`<li>
        <button
          type="button"
          class="key"
          data-part=${segment.name}
          title=${segment.meaning}
          @click=${() => view.goTo(segment.name === 'cached' || segment.name === 'outside' ? '#ladder' : `#rows/${segment.name}`)}
        >
          <span class="swatch"></span><span class="name">${segment.label}</span>
          <span class="figure">${bytes(segment.bytes, units)}</span>
          <span class="part muted">${percent(segment.bytes, result.device.expected)}</span>
        </button>
      </li>`,
    )}
  </ul>`;
}

/** A thin bar of components alone, for stages and the sticky line. */
export function thinBar(components: ComponentBytes, scale: number, units: Units) {
  return html`<div class="segments thin">${segmentsOf(componentSegments(components), scale, units, false)}</div>`;
}

export const barStyles = css`
  .barbox {
    position: relative;
  }
  .track {
    position: relative;
    block-size: 60px;
  }
  .room {
    position: absolute;
    inset-block: 0;
    border-radius: 8px;
    background: var(--sunken);
    box-shadow: inset 0 0 0 1px var(--hairline);
  }
  .segments {
    position: relative;
    display: flex;
    block-size: 100%;
    border-radius: 8px;
    overflow: hidden;
  }
  .segment {
    flex: none;
    display: flex;
    align-items: end;
    min-inline-size: 0;
    overflow: hidden;
    background: var(--fill);
    border-inline-end: 2px solid var(--surface);
    background-clip: padding-box;
  }
  .segment.crossed {
    justify-content: end;
  }
  .segment:is([data-part='cached'], [data-part='outside']),
  :is([data-part='cached'], [data-part='outside']) > .swatch {
    background: repeating-linear-gradient(-45deg, var(--fill) 0 3px, color-mix(in oklab, var(--fill) 45%, var(--surface)) 3px 6px)
      padding-box;
  }
  /* A name stands there whole or not at all. */
  .side {
    container-type: inline-size;
    inline-size: var(--room);
  }
  .plate {
    display: none;
    inline-size: fit-content;
    margin: 6px;
    padding: 1px 6px;
    border-radius: 5px;
    background: var(--surface);
    font-size: 12px;
    font-weight: 550;
    line-height: 1.45;
    white-space: nowrap;
  }
  .crossed .plate {
    margin-inline-start: auto;
  }
  @container (min-width: 84px) {
    .plate:not(.middle, .long) {
      display: block;
    }
  }
  @container (min-width: 132px) {
    .plate.middle {
      display: block;
    }
  }
  @container (min-width: 172px) {
    .plate.plate {
      display: block;
    }
  }
  .excess {
    position: absolute;
    inset-block: -1px;
    inset-inline-end: 0;
    border: 2px solid var(--bad);
    border-inline-start: 0;
    border-radius: 0 9px 9px 0;
    pointer-events: none;
  }
  .excess.cacheonly {
    border: 2px dashed var(--warn);
    border-inline-start: 0;
  }
  .capacity {
    position: absolute;
    inset-block: -7px;
    inline-size: 2px;
    margin-inline-start: -1px;
    background: var(--ink);
    box-shadow: 0 0 0 2px var(--surface);
    pointer-events: none;
  }
  @media (forced-colors: active) {
    .capacity {
      forced-color-adjust: none;
      background: CanvasText;
      box-shadow: 0 0 0 2px Canvas;
    }
  }
  .axis {
    position: relative;
    block-size: 26px;
    font-size: 12.5px;
    font-weight: 550;
  }
  .axis > span {
    position: absolute;
    inset-block-start: 9px;
    padding-inline-start: 6px;
    line-height: 1.3;
    white-space: nowrap;
  }
  .axis .before {
    transform: translateX(-100%);
    padding-inline: 0 2px;
  }
  .axis small {
    color: var(--muted);
    font-size: inherit;
    font-weight: 400;
  }
  .legend {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(276px, 100%), 1fr));
    gap: 0 14px;
    margin-block-start: 6px;
  }
  .legend.bytes {
    grid-template-columns: repeat(auto-fill, minmax(min(360px, 100%), 1fr));
  }
  .key {
    display: flex;
    align-items: center;
    gap: 5px;
    inline-size: 100%;
    block-size: 100%;
    min-block-size: 32px;
    padding: 0;
    border: 0;
    border-block-end: 1px solid var(--hairline);
    background: none;
    font-size: 13px;
    text-align: start;
    cursor: pointer;
  }
  .key:hover .name {
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }
  .key .name {
    flex: 1;
    line-height: 1.25;
    letter-spacing: -0.01em;
  }
  .key .figure {
    font-weight: 600;
  }
  .key .part {
    inline-size: 6.2ch;
    text-align: end;
    font-size: 12.5px;
    white-space: nowrap;
  }
  .segments.thin {
    block-size: 100%;
    border-radius: 4px;
  }
  .thin .segment {
    border-inline-end-width: 1px;
  }
  @media (pointer: coarse) {
    .key {
      min-block-size: 44px;
    }
  }
  @container (max-width: 560px) {
    .track {
      block-size: 46px;
    }
    /* Too long to stand beside its line. */
    .axis {
      block-size: auto;
      padding-block-start: 7px;
    }
    .axis > span {
      position: static;
      padding: 0;
      transform: none;
      white-space: normal;
    }
    .legend.legend {
      grid-template-columns: minmax(0, 1fr);
    }
  }
  @container (max-width: 420px) {
    .legend.bytes .part {
      display: none;
    }
  }
`;
