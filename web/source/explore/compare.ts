// <trainmem-compare>: the configuration that was pinned, A, beside the one in the fields, B, with differences per row.

import { css, html, LitElement, nothing } from 'lit';
import type { GoodAnswer, ResolvedConfig, Scalar } from '../border.js';
import { componentLabels, componentNames } from '../components.js';
import { exactBytes, gigabytes, plural, type Units } from '../format.js';
import { differences } from '../history.js';
import { base } from '../styles/base.js';
import { tokens } from '../styles/tokens.js';
import { barStyles, thinBar } from '../views/bar.js';
import { titles } from '../views/pickers.js';
import type { View } from '../views/view.js';
import { fitBadge, fitStyles, settingWords } from './go_and_say.js';

interface Line {
  name: string;
  part?: string;
  a: number;
  b: number;
}

/** The counters, then every component that either of the two has. */
function linesOf(a: GoodAnswer['result'], b: GoodAnswer['result']): Line[] {
  const counters: Line[] = [
    { name: 'Device', a: a.device.expected, b: b.device.expected },
    { name: 'Reserved', a: a.reserved.expected, b: b.reserved.expected },
    { name: 'Allocated', a: a.allocated, b: b.allocated },
  ];
  const parts = componentNames
    .filter(name => a.components[name] > 0 || b.components[name] > 0)
    .map(name => ({ name: componentLabels[name], part: name, a: a.components[name], b: b.components[name] }));
  return [...counters, ...parts];
}

const held = (bytes: number, units: Units) => (bytes === 0 ? 'none' : gigabytes(bytes, units));

/** "+3.2 GiB", "−3.2 GiB", "same": the sign is a word for eyes and ears alike. */
function differenceWords(a: number, b: number, units: Units): string {
  if (a === b) return 'same';
  return b > a ? `+${gigabytes(b - a, units)}` : `\u2212${gigabytes(a - b, units)}`;
}

function at(config: ResolvedConfig, path: string): Scalar {
  let value: unknown = config;
  for (const name of path.split('/').slice(1)) value = (value as Record<string, unknown> | undefined)?.[name];
  return (value ?? '') as Scalar;
}

/** Models and GPUs that go by names: the name says what differs in them. */
function renamed(view: View, a: ResolvedConfig, b: ResolvedConfig): { section: string; words: string }[] {
  const presets = view.calculator.state.engine?.presets;
  return (['model', 'gpu'] as const).flatMap(section => {
    const name = (config: ResolvedConfig) =>
      presets?.[`${section}s`].find(({ id }) => id === config[section].preset)?.name ?? '';
    const [from, to] = [name(a), name(b)];
    return from && to && from !== to ? [{ section, words: `${titles[section]} ${from} \u2192 ${to}` }] : [];
  });
}

class TrainmemCompare extends LitElement {
  static override properties = {
    view: { attribute: false },
    a: { attribute: false },
    b: { attribute: false },
    units: { type: String },
  };
  static override styles = [
    tokens,
    base,
    barStyles,
    fitStyles,
    css`
      :host {
        background: none;
      }
      .head {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 8px 12px;
        margin-block-end: 10px;
      }
      .head h3 {
        flex: 1;
        margin: 0;
        font-size: 15px;
        font-weight: 650;
      }
      .bars {
        display: grid;
        grid-template-columns: 2ch minmax(0, 1fr);
        gap: 5px 10px;
        align-items: center;
        margin-block-end: 12px;
        font-weight: 650;
      }
      .bars > div {
        position: relative;
        block-size: 18px;
        background: var(--sunken);
        border-radius: 4px;
      }
      table {
        inline-size: 100%;
        border-collapse: collapse;
        font-size: 13.5px;
      }
      th,
      td {
        padding: 5px 0 5px 12px;
        border-block-end: 1px solid var(--hairline);
        font-weight: 450;
        text-align: end;
        white-space: nowrap;
      }
      th:first-child {
        padding-inline-start: 0;
        text-align: start;
        white-space: normal;
      }
      thead th {
        color: var(--muted);
        font-weight: 600;
      }
      .swatch {
        display: inline-block;
        margin-inline-end: 8px;
      }
      .more {
        color: var(--bad);
        font-weight: 620;
      }
      .less {
        color: var(--good);
        font-weight: 620;
      }
      .sets {
        margin-block-start: 10px;
        font-size: 13.5px;
      }
      .fit {
        white-space: normal;
      }
      @container (max-width: 560px) {
        table {
          font-size: 12.5px;
        }
        .head h3 {
          flex-basis: 100%;
        }
        th,
        td {
          padding-inline-start: 6px;
        }
        .swatch {
          margin-inline-end: 5px;
        }
        td .fit > svg {
          display: none;
        }
      }
      @container (max-width: 340px) {
        th,
        td {
          white-space: normal;
        }
      }
    `,
  ];

  declare view: View & LitElement;
  declare a: GoodAnswer;
  declare b: GoodAnswer;
  declare units: Units;

  protected override render() {
    const { a, b, units } = this;
    const fields = this.view.calculator.state.engine?.presets.fields ?? [];
    const scale = Math.max(a.result.allocated, b.result.allocated, 1);
    const names = renamed(this.view, a.config, b.config);
    const sets = differences(a.config, b.config)
      .filter(path => !path.endsWith('/preset') && !names.some(({ section }) => path.startsWith(`/${section}/`)))
      .map(path => settingWords(fields, { path, from: at(a.config, path), to: at(b.config, path) }));
    const all = [...names.map(({ words }) => words), ...sets];
    const [few, rest] = [all.slice(0, 6), all.length - 6];
    const lines = linesOf(a.result, b.result);
    // The counters stand there always, of the components what differs.
    const alike = lines.filter(line => line.part && line.a === line.b);
    return html`<section class="panel" id="compare" aria-label="Comparison">
      <div class="head">
        <h3>A (pinned) and B (in the fields)</h3>
        <button type="button" class="button" @click=${() => this.view.companion.swap()}>Swap</button>
        <button type="button" class="button" @click=${() => this.view.companion.compare(false)}>Stop comparing</button>
      </div>
      <div class="bars" aria-hidden="true">
        <span>A</span><div>${thinBar(a.result.components, scale, units)}</div>
        <span>B</span><div>${thinBar(b.result.components, scale, units)}</div>
      </div>
      ${
        all.length === 0
          ? nothing
          : html`<table>
        <thead>
          <tr>
            <th scope="col">Memory</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          ${lines
            .filter(line => !alike.includes(line))
            .map(
              line => html`<tr>
              <th scope="row">${line.part ? html`<span class="swatch" data-part=${line.part}></span>` : nothing}${line.name}</th>
              <td title=${exactBytes(line.a)}>${held(line.a, units)}</td>
              <td title=${exactBytes(line.b)}>${held(line.b, units)}</td>
              <td class=${line.b > line.a ? 'more' : line.b < line.a ? 'less' : 'muted'} title=${exactBytes(Math.abs(line.b - line.a))}>
                ${differenceWords(line.a, line.b, units)}
              </td>
            </tr>`,
            )}
          <tr>
            <th scope="row">Verdict</th>
            <td>${fitBadge(a.result.verdict)}</td>
            <td>${fitBadge(b.result.verdict)}</td>
            <td class="muted">${a.result.num_gpus === b.result.num_gpus ? '' : `${a.result.num_gpus} \u2192 ${plural(b.result.num_gpus, 'GPU')}`}</td>
          </tr>
        </tbody>
      </table>`
      }
      <p class="sets muted">
        ${all.length > 0 && alike.length > 0 ? html`The same in both: ${alike.map(({ name }) => name.toLowerCase()).join(', ')}.<br />` : nothing}
        ${all.length === 0 ? 'B is A: change anything, and the difference stands here.' : few.join(', ')}${rest > 0 ? `, and ${plural(rest, 'field')} more` : nothing}
      </p>
    </section>`;
  }
}

if (!customElements.get('trainmem-compare')) customElements.define('trainmem-compare', TrainmemCompare);
