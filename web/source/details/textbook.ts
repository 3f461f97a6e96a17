// The published closed formulas beside the replayed step: a reader of any of them finds the number they know.
// "method: part" lines that follow each other stand under one heading.

import { css, html, nothing } from 'lit';
import type { Result, TextbookLine } from '../border.js';
import { turn } from '../folds.js';
import { capitalized, exactBytes, formula, gigabytes, sentence, type Units } from '../format.js';
import type { View } from '../views/view.js';

interface Method {
  title: string;
  lines: { name: string; line: TextbookLine }[];
}

function methods(lines: readonly TextbookLine[]): Method[] {
  const found: Method[] = [];
  for (const line of lines) {
    const [title = '', part] = line.method.split(/: (.*)/);
    const last = found.at(-1);
    if (last && part !== undefined && last.title === title) last.lines.push({ name: part, line });
    else found.push({ title, lines: [{ name: part ?? title, line }] });
  }
  return found;
}

/** "fp32" stays as it is. */
const methodTitle = (text: string) => (/^[a-z]+\d/.test(text) ? text : capitalized(text));

function row(view: View, name: string, line: TextbookLine, allocated: number, scale: number, units: Units) {
  const id = `textbook/${line.method}`;
  const open = view.open.has(id);
  return html`<li>
    <button type="button" class="opener formulahead" aria-expanded=${open} @click=${turn(() => view.toggle(id))}>
      <i class="chevron"></i><span class="method">${methodTitle(name)}</span>
      <span class="formulabar" aria-hidden="true">
        <span class="formulafill" .style=${`inline-size:${(100 * line.bytes) / scale}%`}></span>
        <span class="mark" .style=${`inset-inline-start:${(100 * allocated) / scale}%`}></span>
      </span>
      <span class="figure" title=${exactBytes(line.bytes)}>${gigabytes(line.bytes, units)}</span>
    </button>
    ${
      open
        ? html`<div class="formula reason">
            <p><code>${formula(line.formula)}</code> <span class="nowrap">= ${exactBytes(line.bytes)}</span></p>
            ${line.leaves_out ? html`<p>Leaves out ${line.leaves_out.replace(/\.?$/, '.')}</p>` : nothing}
            <p class="muted">${sentence(line.source)}</p>
          </div>`
        : nothing
    }
  </li>`;
}

export function textbook(view: View, result: Result) {
  const { units } = view.calculator.state;
  const scale = Math.max(result.allocated, ...result.textbook.map(line => line.bytes), 1);
  return html`<p class="lead">
      Published formulas, each exactly as its source gives it. The upright line is what this step allocates,
      ${gigabytes(result.allocated, units)}. Open one to see its numbers and what it leaves out.
    </p>
    ${methods(result.textbook).map(
      ({
        title,
        lines,
      }) => html`${lines.length > 1 ? html`<h4 class="methodtitle">${methodTitle(title)}</h4>` : nothing}
        <ul class="formulas">
          ${lines.map(({ name, line }) =>
            row(view, lines.length > 1 ? name : line.method, line, result.allocated, scale, units),
          )}
        </ul>`,
    )}`;
}

export const textbookStyles = css`
  .methodtitle {
    margin: 12px 0 2px;
    font-size: 13px;
    font-weight: 620;
  }
  .methodtitle + .formulas {
    padding-inline-start: 12px;
    border-inline-start: 2px solid var(--hairline);
    margin-block-end: 12px;
  }
  .formulahead {
    min-block-size: 34px;
    padding-block: 4px;
    line-height: 1.35;
    font-size: 13.5px;
  }
  @media (pointer: coarse) {
    .formulahead {
      min-block-size: 44px;
    }
  }
  .method {
    flex: 1 1 auto;
  }
  .formulahead .figure {
    min-inline-size: 9ch;
    font-weight: 600;
  }
  .formulabar {
    position: relative;
    flex: none;
    inline-size: 22cqi;
    block-size: 6px;
    border-radius: 3px;
    background: var(--sunken);
  }
  .formulafill {
    display: block;
    block-size: 100%;
    border-radius: 3px;
    background: var(--outline);
  }
  .mark {
    position: absolute;
    inset-block: -3px;
    inline-size: 2px;
    margin-inline-start: -2px;
    background: var(--ink);
  }
  .formula {
    gap: 4px;
    margin: 2px 0 14px 8px;
    overflow-wrap: anywhere;
  }
  .formula p {
    max-inline-size: 76ch;
  }
  @container (max-width: 560px) {
    .formulabar {
      display: none;
    }
  }
`;
