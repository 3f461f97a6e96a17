// Allocated, reserved, device: three counters that measure different things, and what to compare each with.

import { css, html, nothing } from 'lit';
import type { Range, Result, Section } from '../border.js';
import { componentSegments, deviceSegments } from '../components.js';
import { allUnits, asNumber, bytes, exactBytes, gigabytes, sentence, type Units } from '../format.js';
import { segmentsOf } from '../views/bar.js';
import type { View } from '../views/view.js';

interface Rung {
  title: string;
  range: Range;
  compare: string;
  text: string;
}

/** Three sizes of one GPU, which go by the same name. */
function capacityWords(gpu: Section | undefined, units: Units): string {
  const size = (name: string) => asNumber(gpu?.[name]);
  const sizes = [
    ['is sold with', size('memory_bytes')],
    ['shows', size('driver_visible_bytes')],
    ['gives a program', size('usable_bytes')],
  ] as const;
  const said = sizes.filter(([, value]) => value > 0).map(([words, value]) => `${words} ${allUnits(value, units)}`);
  return said.length === 0 ? '' : ` The GPU ${said.join(', ')}.`;
}

function rungs({ allocated, reserved, device }: Result, gpu: Section | undefined, units: Units): Rung[] {
  return [
    {
      title: 'Allocated',
      range: { low: allocated, expected: allocated, high: allocated },
      compare: 'torch.cuda.max_memory_allocated()',
      text: 'What tensors hold at the peak: derived, nothing fitted.',
    },
    {
      title: 'Reserved',
      range: reserved,
      compare: 'torch.cuda.max_memory_reserved()',
      text: `The same step through PyTorch’s caching allocator, on the GPU that reserves most: ${bytes(Math.max(0, reserved.expected - allocated), units)} more, for rounding and blocks that are free but cached.`,
    },
    {
      title: 'Device',
      range: device,
      compare: 'nvidia-smi',
      text: `With what lives outside PyTorch: ${bytes(Math.max(0, device.expected - reserved.expected), units)} more, by estimate.${capacityWords(gpu, units)}`,
    },
  ];
}

function whisker(range: Range, scale: number) {
  if (range.high <= range.low) return nothing;
  const from = (100 * range.low) / scale;
  return html`<div class="whisker" .style=${`inset-inline-start:${from}%;inline-size:${(100 * range.high) / scale - from}%`}></div>`;
}

export function ladder(view: View, result: Result) {
  const { units, good } = view.calculator.state;
  const { capacity } = result.verdict;
  const scale = Math.max(result.device.high, result.device.expected, capacity, 1) * 1.01;
  const all = deviceSegments(result);
  const shown = [componentSegments(result.components), all.filter(segment => segment.name !== 'outside'), all];
  return html`<p class="lead">Tools report different things under the same name. Compare each number with its own counter.</p>
    <ol class="rungs">
      ${rungs(result, good?.config.gpu as Section | undefined, units).map(
        (rung, index) => html`<li class="rung">
          <div class="rungtext">
            <span class="rungtitle">${rung.title}</span>
            <strong class="figure" title=${exactBytes(rung.range.expected)}>${gigabytes(rung.range.expected, units)}</strong>
          </div>
          <div class="rungbar">
            <div class="rungroom" .style=${`inline-size:${(100 * capacity) / scale}%`}></div>
            <div class="rungfill"><div class="segments thin">${segmentsOf(shown[index]!, scale, units, false)}</div></div>
            ${whisker(rung.range, scale)}
            ${capacity > 0 ? html`<div class="capacity" .style=${`inset-inline-start:${(100 * capacity) / scale}%`}></div>` : nothing}
          </div>
          <p class="muted">Compare with <code>${rung.compare}</code>. ${rung.text}</p>
        </li>`,
      )}
    </ol>
    ${
      result.runtime.length > 0
        ? html`<details class="outside">
            <summary>What lives outside PyTorch</summary>
            <ul>
              ${result.runtime.map(
                row => html`<li>
                  <p>
                    <strong>${row.name}</strong> ${bytes(row.bytes.expected, units)}${
                      row.bytes.high > row.bytes.low
                        ? html`<span class="muted">, between ${bytes(row.bytes.low, units)} and ${bytes(row.bytes.high, units)}</span>`
                        : nothing
                    }
                  </p>
                  <p class="muted">${sentence(row.why)} ${row.source ? html`<span>Source: ${sentence(row.source)}</span>` : nothing}</p>
                </li>`,
              )}
            </ul>
          </details>`
        : nothing
    }`;
}

export const ladderStyles = css`
  .rungs {
    display: grid;
    gap: 14px;
  }
  .rung {
    display: grid;
    grid-template-columns: 190px minmax(0, 1fr);
    gap: 3px 18px;
    align-items: center;
  }
  .rung > p {
    grid-column: 2;
    font-size: 13px;
    line-height: 1.45;
  }
  .rungtext {
    display: flex;
    justify-content: space-between;
    gap: 10px;
    font-size: 14.5px;
  }
  .rungtitle {
    font-weight: 620;
  }
  .rungbar {
    position: relative;
    block-size: 18px;
  }
  .rungroom,
  .rungfill {
    position: absolute;
    inset-block: 0;
    inset-inline-start: 0;
    border-radius: 4px;
  }
  .rungfill {
    inline-size: 100%;
  }
  .rungroom {
    background: var(--sunken);
    box-shadow: inset 0 0 0 1px var(--hairline);
  }
  .whisker {
    position: absolute;
    inset-block: 4px;
    border: solid var(--ink);
    border-width: 0 2px;
  }
  .whisker::after {
    content: '';
    position: absolute;
    inset-block-start: 4px;
    inset-inline: 0;
    border-block-start: 2px solid var(--ink);
  }
  .rungbar .capacity {
    inset-block: -3px;
  }
  .outside {
    margin-block-start: 16px;
    font-size: 13.5px;
  }
  .outside summary {
    display: inline-block;
    min-block-size: 28px;
    color: var(--accent);
    cursor: pointer;
    text-decoration: underline;
    text-underline-offset: 0.18em;
  }
  .outside ul {
    display: grid;
    gap: 10px;
    padding-block-start: 6px;
  }
  @media (pointer: coarse) {
    .outside summary {
      min-block-size: 44px;
    }
  }
  @container (max-width: 720px) {
    .rung {
      grid-template-columns: minmax(0, 1fr);
    }
    .rung > p {
      grid-column: 1;
    }
  }
`;
