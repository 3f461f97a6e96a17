// One field of the configuration: number, choice, switch or text, with its unit, its message and a way back.

import { css, html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { live } from 'lit/directives/live.js';
import type { Field, Issue, Scalar } from '../border.js';
import type { Draft } from '../calculator_state.js';
import { fieldLabel, isNumeric, step } from '../fields.js';
import { formatNumber, parseNumber } from '../number_grammar.js';
import { optionLabel } from '../option_labels.js';
import { icons } from './icons.js';
import { plainly } from './plainly.js';
import { slider } from './slider.js';
import type { View } from './view.js';

/** Sizes of memory follow the page's units. */
export const unitsOf = ({ calculator }: View, { unit }: Field) =>
  unit === 'bytes' ? calculator.state.units : undefined;

/** A micro-batch of preferences is one of pairs. */
const unitOf = ({ calculator }: View, { path, unit }: Field) =>
  path === '/recipe/micro_batch_size' &&
  /^(dpo|reward|orpo|cpo|simpo)$/.test(`${calculator.value('/recipe/objective')}`)
    ? 'pairs'
    : unit;

export const idOf = (path: string) => `field${path.replaceAll('/', '-')}`;

function numberInput(view: View, field: Field, value: Scalar | undefined, described: string, invalid: boolean) {
  const { calculator } = view;
  const { path } = field;
  const draft = calculator.state.drafts.get(path);
  const units = unitsOf(view, field);
  const { minimum, maximum, unit } = field;
  const rules = { integer: field.type === 'integer', minimum, maximum, unit, shown: units };
  const shown = typeof value === 'number' ? formatNumber(value, units) : '';
  const read = (event: Event) => {
    const text = (event.target as HTMLInputElement).value;
    const parsed = parseNumber(text, rules);
    // The text stays as typed ("4k") until the field is left.
    if (!parsed.ok) calculator.setDraft(path, text, parsed.message);
    else if (parsed.value !== calculator.value(path)) calculator.set(path, parsed.value, text);
    else calculator.setDraft(path, text, '');
  };
  const leave = () => {
    if (calculator.state.drafts.get(path)?.message === '') calculator.dropDraft(path);
  };
  // What is typed is drawn with its answer: a key may come before that.
  const press = (event: KeyboardEvent) => {
    const draft = calculator.state.drafts.get(path);
    const value = calculator.value(path);
    if (event.key === 'Enter') leave();
    else if (event.key === 'Escape' && draft) calculator.dropDraft(path);
    else if ((event.key === 'ArrowUp' || event.key === 'ArrowDown') && typeof value === 'number') {
      const next = step(field, value, event.key === 'ArrowUp' ? 1 : -1, { large: event.shiftKey, small: event.altKey });
      if (next !== value || draft) calculator.set(path, next);
      (event.currentTarget as HTMLInputElement).value = formatNumber(next, units);
    } else return;
    event.preventDefault();
  };
  return html`<span class="box">
    <input
      id=${idOf(path)}
      type="text"
      inputmode="decimal"
      autocomplete="off"
      spellcheck="false"
      aria-describedby=${described}
      aria-invalid=${invalid ? 'true' : nothing}
      .value=${live(draft ? draft.text : shown)}
      @input=${read}
      @change=${leave}
      @blur=${leave}
      @keydown=${press}
    />${unit ? html`<span class="unit" aria-hidden="true">${units ?? unitOf(view, field)}</span>` : nothing}
  </span>`;
}

function control(view: View, field: Field, value: Scalar | undefined, described: string, invalid: boolean) {
  const { calculator } = view;
  const { path } = field;
  if (isNumeric(field)) return numberInput(view, field, value, described, invalid);
  if (field.type === 'boolean') {
    return html`<input
      id=${idOf(path)}
      class="switch"
      type="checkbox"
      role="switch"
      aria-describedby=${described}
      .checked=${live(value === true)}
      @change=${(event: Event) => calculator.set(path, (event.target as HTMLInputElement).checked)}
    />`;
  }
  if (field.options) {
    return html`<span class="box"
      ><select
        id=${idOf(path)}
        aria-describedby=${described}
        aria-invalid=${invalid ? 'true' : nothing}
        @change=${(event: Event) => calculator.set(path, (event.target as HTMLSelectElement).value)}
      >
        ${field.options.map(
          option =>
            html`<option value=${option} .selected=${live(option === value)}>${optionLabel(field, option)}</option>`,
        )}</select
      ><i class="chevron"></i></span
    >`;
  }
  return html`<span class="box"
    ><input
      id=${idOf(path)}
      type="text"
      autocomplete="off"
      spellcheck="false"
      maxlength="200"
      aria-describedby=${described}
      aria-invalid=${invalid ? 'true' : nothing}
      .value=${live(String(value ?? ''))}
      @change=${(event: Event) => calculator.set(path, (event.target as HTMLInputElement).value)}
  /></span>`;
}

/** In narrow windows the meaning stands under its field: it stays when the field is left, so that nothing moves then. */
const besideResults = () => matchMedia('(min-width: 940px)').matches;

/** Drawn again only when something in it has changed: there are many fields, and an edit concerns few. */
export function fieldRow(view: View, field: Field) {
  const { calculator } = view;
  const { path } = field;
  const value = calculator.value(path);
  const draft = calculator.state.drafts.get(path);
  const issues = calculator.issuesAt(path);
  const edited = calculator.state.edited.has(path);
  const shown = [
    field,
    field.meaning,
    value,
    draft,
    edited,
    view.help === path,
    unitsOf(view, field),
    unitOf(view, field),
    ...issues,
  ];
  return guard(shown, () => row(view, field, value, draft, issues, edited));
}

function row(
  view: View,
  field: Field,
  value: Scalar | undefined,
  draft: Draft | undefined,
  issues: Issue[],
  edited: boolean,
) {
  const { calculator } = view;
  const { path } = field;
  const id = idOf(path);
  const message = draft?.message ?? '';
  const invalid = message !== '' || issues.length > 0;
  const described = `${id}-help${invalid ? ` ${id}-message` : ''}`;
  return html`<div
    class="field ${edited ? 'edited' : ''} ${invalid ? 'invalid' : ''} ${view.help === path ? 'explained' : ''}"
    @focusin=${() => view.explain(path)}
    @pointermove=${(event: PointerEvent) => view.help !== path && event.pointerType === 'mouse' && besideResults() && view.explain(path)}
  >
    <label for=${id}>${fieldLabel(field)}</label>
    ${
      edited
        ? html`<button type="button" class="back" title="Back to the preset’s value" aria-label="Reset ${fieldLabel(field)}" @click=${() => calculator.reset(path)}>
            ${icons.reset()}
          </button>`
        : nothing
    }
    ${control(view, field, value, described, invalid)} ${slider(view, field, value)}
    <p class="help" id="${id}-help">${field.meaning ?? ''}</p>
    ${
      invalid
        ? html`<div class="message" id="${id}-message">
            ${message ? html`<p>${message} <span>Still computing with ${formatNumber(Number(value), unitsOf(view, field))}.</span></p>` : nothing}
            ${issues.map(issue => html`<p>${plainly(view, issue.message)} <span>${plainly(view, issue.hint)}</span></p>`)}
          </div>`
        : nothing
    }
  </div>`;
}

export const fieldStyles = css`
  .field {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto minmax(112px, 46%);
    align-items: center;
    gap: 0 8px;
    min-block-size: 38px;
  }
  .field:has(> .slider) {
    padding-block-start: 3px;
  }
  .field label {
    grid-column: 1;
    padding-block: 4px;
    font-size: 13.5px;
    line-height: 1.3;
    text-wrap: balance;
  }
  .field.edited label {
    font-weight: 640;
  }
  .field > .box,
  .field > .switch {
    grid-column: 3;
  }
  .box {
    position: relative;
    display: flex;
    align-items: center;
    min-inline-size: 0;
    block-size: 32px;
    background: var(--background);
    border: 1px solid var(--outline);
    border-radius: 7px;
  }
  .box:focus-within {
    outline: 2px solid var(--accent);
    outline-offset: 0;
  }
  .invalid .box {
    border-color: var(--bad);
    box-shadow: 0 0 0 1px var(--bad);
  }
  .box input,
  .box select {
    flex: 1;
    inline-size: 100%;
    min-inline-size: 0;
    block-size: 100%;
    padding: 0 9px;
    border: 0;
    outline: 0;
    border-radius: inherit;
    background: none;
    font-size: 14px;
  }
  /* A long number takes the room of its unit. */
  @supports (field-sizing: content) {
    .box input[inputmode] {
      flex: 1 0 auto;
      inline-size: auto;
      max-inline-size: 100%;
      padding-inline-end: 4px;
      field-sizing: content;
    }
  }
  .box select {
    appearance: none;
    padding-inline-end: 28px;
    text-overflow: ellipsis;
    cursor: pointer;
  }
  .box select option {
    color: var(--ink);
    background: var(--surface);
  }
  .box > .chevron {
    position: absolute;
    inset-inline-end: 8px;
    pointer-events: none;
  }
  .unit {
    flex: 0 1 auto;
    padding-inline-end: 9px;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    color: var(--muted);
    font-size: 12.5px;
  }
  .back {
    grid-column: 2;
    display: grid;
    place-items: center;
    inline-size: 26px;
    block-size: 26px;
    margin-inline: -8px -4px;
    padding: 0;
    border: 0;
    border-radius: 6px;
    background: none;
    color: var(--muted);
    cursor: pointer;
  }
  .back:hover {
    background: var(--sunken);
    color: var(--ink);
  }
  .switch {
    appearance: none;
    justify-self: start;
    inline-size: 38px;
    block-size: 24px;
    margin: 0;
    border: 1px solid var(--outline);
    border-radius: 99px;
    background: radial-gradient(circle 7px at 11px 50%, var(--outline) 98%, transparent) var(--background);
    cursor: pointer;
  }
  .switch:checked {
    border-color: var(--accent);
    background: radial-gradient(circle 7px at 25px 50%, var(--surface) 98%, transparent) var(--accent);
  }
  @media (forced-colors: active) {
    .switch {
      --background: Canvas;
      --surface: Canvas;
      --outline: CanvasText;
      --accent: Highlight;
      forced-color-adjust: none;
    }
  }
  /* Said as the description of its field. Not one that is clipped away: each would be a layer to look through at every
     move of the pointer. */
  .help {
    display: none;
  }
  .message {
    grid-column: 1 / -1;
    padding: 2px 0 8px;
    color: var(--bad);
    font-size: 13px;
    line-height: 1.4;
  }
  .message span {
    color: var(--muted);
  }
  @media (pointer: coarse) {
    .field {
      min-block-size: 50px;
    }
    .box {
      block-size: 44px;
    }
    .box input,
    .box select {
      font-size: 16px;
    }
    .back {
      inline-size: 44px;
      block-size: 44px;
      margin-inline: 0;
    }
    .switch {
      inline-size: 52px;
      block-size: 32px;
      background: radial-gradient(circle 11px at 15px 50%, var(--outline) 98%, transparent) var(--background);
    }
    .switch:checked {
      background: radial-gradient(circle 11px at 35px 50%, var(--surface) 98%, transparent) var(--accent);
    }
  }
  @container (max-width: 899px) {
    .field.explained .help {
      display: block;
      grid-column: 1 / -1;
      padding-block: 2px 8px;
      color: var(--muted);
      font-size: 13px;
      line-height: 1.4;
    }
  }
`;
