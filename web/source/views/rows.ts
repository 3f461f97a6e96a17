// Every tensor alive at the peak, by component. A row opens to its shape, its formula with the numbers put in, the
// reason why it is kept, and the source that says so.

import { css, html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { ComponentName, Result, Row } from '../border.js';
import { componentLabels, componentMeanings, componentNames } from '../components.js';
import { turn } from '../folds.js';
import { bytes, exactBytes, formula, grouped, percent, plural, sentence, type Units } from '../format.js';
import { breakable } from './breakable.js';
import type { View } from './view.js';

const first = 8;

/** The component's heading says its name already. */
const shortName = ({ name, component }: Row) => name.replace(`${component}.`, '');

/** Whose gradient, state or scratch it is: the weights of its shape, where they are as many. */
export function owners({ component, shape, copies }: Row, all: readonly Row[]): string {
  if (!/^(master_weights|gradients|optimizer_)/.test(component)) return '';
  const same = all.filter(row => row.component === 'weights' && row.shape === shape);
  if (same.reduce((sum, row) => sum + row.copies, 0) !== copies) return '';
  return [...new Set(same.map(shortName))].join(', ');
}

export function explanation(row: Row) {
  const size = row.element_bytes === 1 ? '1 byte' : `${row.element_bytes} bytes`;
  return html`<dl class="explanation reason">
    <div><dt>Why</dt><dd>${sentence(row.why)}</dd></div>
    <div><dt>Bytes</dt><dd><code>${formula(row.formula)}</code> <span class="nowrap">= ${exactBytes(row.bytes)}</span></dd></div>
    <div>
      <dt>Tensor</dt>
      <dd>
        <code>${row.shape}</code> ${row.dtype}, ${grouped(row.elements)} elements of ${size}${
          row.copies > 1 ? html`, ${grouped(row.copies)} of them` : nothing
        }
      </dd>
    </div>
    ${row.source ? html`<div><dt>Source</dt><dd>${row.source}</dd></div>` : nothing}
    ${row.kind === 'exact' ? nothing : html`<div><dt>Kind</dt><dd>${row.kind === 'estimate' ? 'An estimate, not derived' : 'Measured, not derived'}</dd></div>`}
  </dl>`;
}

function tableRow(view: View, row: Row, id: string, { rows, allocated }: Result, units: Units) {
  const open = view.open.has(id);
  const whose = owners(row, rows);
  return html`<tr class="row ${open ? 'opened' : ''}">
      <th scope="row">
        <button type="button" class="opener" aria-expanded=${open} @click=${turn(() => view.toggle(id))}>
          <i class="chevron"></i><span title=${row.name}>${breakable(shortName(row))}${whose ? html` <span class="muted">of ${whose}</span>` : nothing}<span class="shapeline mono muted">${row.shape}${row.copies > 1 ? ` × ${grouped(row.copies)}` : ''}</span></span>${row.kind === 'exact' ? nothing : html`<small>${row.kind}</small>`}
        </button>
      </th>
      <td class="shape mono">${row.shape}${row.copies > 1 ? html` <span class="muted">× ${grouped(row.copies)}</span>` : nothing}</td>
      <td class="dtype mono">${row.dtype}</td>
      <td class="figure" title=${exactBytes(row.bytes)}>${bytes(row.bytes, units)}</td>
      <td class="figure share muted">${percent(row.bytes, allocated)}</td>
    </tr>
    ${open ? html`<tr class="detail"><td colspan="5">${explanation(row)}</td></tr>` : nothing}`;
}

function component(view: View, result: Result, name: ComponentName, largest: boolean, units: Units) {
  const rows = result.rows.filter(row => row.component === name).sort((a, b) => b.bytes - a.bytes);
  const id = `rows/${name}`;
  const open = view.open.has(id) !== largest;
  const all = rows.length <= first + 2 || view.open.has(`${id}/all`);
  const shown = all ? rows : rows.slice(0, first);
  return html`<tbody data-part=${name} id=${id}>
    <tr class="component">
      <th scope="rowgroup">
        <button type="button" class="opener" aria-expanded=${open} @click=${turn(() => view.toggle(id))}>
          <i class="chevron"></i><span class="swatch"></span><span>${componentLabels[name]}</span>
          <span class="badge">${plural(rows.length, 'row')}</span>
        </button>
      </th>
      <td class="shape"></td>
      <td class="dtype"></td>
      <td class="figure" title=${exactBytes(result.components[name])}>${bytes(result.components[name], units)}</td>
      <td class="figure share muted">${percent(result.components[name], result.allocated)}</td>
    </tr>
    ${
      open
        ? html`<tr class="meaning"><td colspan="5" class="muted">${componentMeanings[name]}</td></tr>
            ${shown.map((row, index) => tableRow(view, row, `${id}/${index}/${row.name}`, result, units))}
            ${
              all
                ? nothing
                : html`<tr class="rest"><td colspan="5">
                    <button type="button" class="quiet" @click=${() => view.toggle(`${id}/all`)}>
                      Show all ${rows.length} rows
                    </button>
                  </td></tr>`
            }`
        : nothing
    }
  </tbody>`;
}

/** What stands open of the rows that begin with `prefix`. */
const standing = ({ open }: View, prefix: string) => [...open].filter(id => id.startsWith(prefix)).join();

export function rows(view: View, result: Result) {
  const { units } = view.calculator.state;
  return guard([result, units, standing(view, 'rows/')], () => table(view, result, units));
}

function table(view: View, result: Result, units: Units) {
  const names = componentNames.filter(name => result.components[name] > 0);
  const largest = names.reduce(
    (high, name) => (result.components[name] > result.components[high] ? name : high),
    names[0]!,
  );
  return html`<section class="panel" part="rows" id="rows" aria-label="Rows">
    <h3>What is alive at the peak</h3>
    <p class="lead">
      Every family of tensors, to the byte. Open a row to see its formula with the numbers put in, why it is kept, and
      the source of the rule.
    </p>
    <table class="rows">
      <thead class="visually-hidden">
        <tr>
          <th scope="col">Tensors</th>
          <th scope="col">Shape</th>
          <th scope="col">Format</th>
          <th scope="col">Memory</th>
          <th scope="col">Share</th>
        </tr>
      </thead>
      ${names.map(name => {
        return guard([result, units, standing(view, `rows/${name}`)], () =>
          component(view, result, name, name === largest, units),
        );
      })}
      <tfoot>
        <tr>
          <th scope="row">Allocated at the peak</th>
          <td class="shape"></td>
          <td class="dtype"></td>
          <td class="figure" title=${exactBytes(result.allocated)}>${bytes(result.allocated, units)}</td>
          <td class="figure share muted">100 %</td>
        </tr>
      </tfoot>
    </table>
    ${
      result.not_counted.length > 0
        ? html`<div class="notcounted">
            <p>Not counted</p>
            <ul>
              ${result.not_counted.map(sentence => html`<li>${sentence}</li>`)}
            </ul>
          </div>`
        : nothing
    }
  </section>`;
}

export const rowStyles = css`
  .rows {
    inline-size: 100%;
    border-spacing: 0;
    font-size: 13.5px;
  }
  .rows th,
  .rows td {
    padding: 0;
    font-weight: 400;
    text-align: start;
    vertical-align: middle;
  }
  .rows .figure {
    inline-size: 1%;
    padding-inline-start: 16px;
    text-align: end;
  }
  .rows .share {
    min-inline-size: 62px;
    font-size: 12.5px;
  }
  .component > * {
    border-block-start: 1px solid var(--hairline);
  }
  .component .opener,
  .component .figure:not(.share),
  .rows tfoot th,
  .rows tfoot .figure:not(.share) {
    font-weight: 620;
  }
  .rows tfoot th,
  .rows tfoot td {
    padding-block: 9px 0;
    border-block-start: 2px solid var(--ink);
  }
  .opener {
    display: flex;
    align-items: center;
    gap: 8px;
    inline-size: 100%;
    min-block-size: 38px;
    padding: 0;
    border: 0;
    background: none;
    text-align: start;
    cursor: pointer;
    overflow-wrap: anywhere;
  }
  .opener small {
    padding: 0 6px;
    border: 1px solid var(--outline);
    border-radius: 99px;
    font-size: 11.5px;
  }
  .row .opener {
    min-block-size: 30px;
    padding-inline-start: 26px;
  }
  .row:hover > *,
  .row.opened > * {
    background: var(--sunken);
  }
  .row > :first-child {
    border-radius: 6px 0 0 6px;
  }
  .row > :last-child {
    border-radius: 0 6px 6px 0;
  }
  .rows .shape,
  .rows .dtype {
    padding-inline-start: 14px;
    font-size: 12.5px;
    white-space: nowrap;
  }
  .shapeline {
    display: none;
    font-size: 12px;
    line-height: 1.3;
  }
  .meaning td,
  .rows .rest td {
    padding: 0 0 6px 52px;
    font-size: 13px;
  }
  .rows .rest td {
    padding-block: 4px 12px;
  }
  /* What an opened line says, here and under the textbook formulas. */
  .reason {
    display: grid;
    padding-inline-start: 14px;
    border-inline-start: 3px solid var(--fill, var(--outline));
    font-size: 13.5px;
    line-height: 1.5;
  }
  .explanation {
    gap: 6px;
    margin: 4px 0 14px 50px;
  }
  .explanation > div {
    display: grid;
    grid-template-columns: 62px minmax(0, 1fr);
  }
  .explanation dt {
    color: var(--muted);
  }
  .explanation dd {
    max-inline-size: 72ch;
    overflow-wrap: anywhere;
  }
  .nowrap {
    white-space: nowrap;
  }
  .notcounted {
    margin-block-start: 18px;
    font-size: 13px;
  }
  .notcounted p {
    font-weight: 620;
  }
  .notcounted ul {
    padding-inline-start: 18px;
    color: var(--muted);
    list-style: disc;
  }
  @media (pointer: coarse) {
    .opener,
    .row .opener {
      min-block-size: 44px;
    }
  }
  @container (max-width: 720px) {
    .rows .shape,
    .rows .dtype {
      display: none;
    }
    .shapeline {
      display: block;
    }
    .row .opener {
      padding: 4px 0 4px 12px;
    }
    .meaning td,
    .rows .rest td {
      padding-inline-start: 24px;
    }
    .explanation {
      margin-inline-start: 12px;
    }
    .rows .figure {
      padding-inline-start: 8px;
    }
  }
  @container (max-width: 560px) {
    .component .badge {
      display: none;
    }
  }
  @container (max-width: 420px) {
    .rows .share {
      display: none;
    }
    .explanation > div {
      grid-template-columns: minmax(0, 1fr);
    }
  }
`;
