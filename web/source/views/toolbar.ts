// Copy the link, choose GiB or GB, choose light or dark; in an embed, the way to the full calculator.

import { css, html, nothing } from 'lit';
import { grouped, unitNames, unitSizes } from '../format.js';
import { icons } from './icons.js';
import type { View } from './view.js';

const unitWords = unitNames.map(name => ({
  value: name,
  words: name,
  title: name === 'bytes' ? 'Every byte written out' : `1 ${name} = ${grouped(unitSizes[name])} bytes`,
}));

interface Choice<Value> {
  value: Value;
  words: string;
  title?: string;
}

/** A switch between few words, of which one holds. */
export function oneOf<Value extends string>(
  name: string,
  legend: string,
  choices: readonly Choice<Value>[],
  chosen: Value,
  choose: (value: Value) => void,
) {
  return html`<fieldset class="oneof ${name}">
    <legend class="visually-hidden">${legend}</legend>
    ${choices.map(
      ({ value, words, title }) => html`<label title=${title ?? nothing}>
        <input type="radio" name=${name} value=${value} .checked=${value === chosen} @change=${() => choose(value)} /><span>${words}</span>
      </label>`,
    )}
  </fieldset>`;
}

export interface ToolbarOptions {
  /** Address of this configuration in the full calculator, for paper. */
  address: string;
  /** Address of the full calculator with this configuration; shown in embeds. */
  home: string | undefined;
  dark: boolean;
  switchTheme: (() => void) | undefined;
  /** Open their dialogs; absent where nothing may be changed, or where there is no room. */
  bring: (() => void) | undefined;
  take: (() => void) | undefined;
}

export function toolbar(view: View, { address, home, dark, switchTheme, bring, take }: ToolbarOptions) {
  const { engine, units } = view.calculator.state;
  return html`<div class="toolbar">
    <p class="printed mono">trainmem ${engine?.version} ${address}</p>
    ${oneOf('units', 'Units', unitWords, units, units => view.calculator.setView({ units }))}
    ${
      switchTheme
        ? html`<button type="button" class="button icononly" aria-label=${dark ? 'Light colours' : 'Dark colours'} title=${dark ? 'Light colours' : 'Dark colours'} @click=${switchTheme}>
            ${dark ? icons.sun() : icons.moon()}
          </button>`
        : nothing
    }
    ${
      view.readonly || view.view === 'bar'
        ? nothing
        : html`<span class="steps">
            <button type="button" class="button icononly" aria-label="Undo" title="Undo (Ctrl+Z)" ?disabled=${!view.companion.canUndo} @click=${() => view.companion.move(-1)}>
              ${icons.undo()}</button
            ><button type="button" class="button icononly" aria-label="Redo" title="Redo (Ctrl+Shift+Z)" ?disabled=${!view.companion.canRedo} @click=${() => view.companion.move(1)}>
              ${icons.redo()}
            </button>
          </span>`
    }
    ${bring ? html`<button type="button" class="button" @click=${bring}>${icons.into()}<span>Import</span></button>` : nothing}
    ${take ? html`<button type="button" class="button" @click=${take}>${icons.out()}<span>Export</span></button>` : nothing}
    ${
      view.readonly || view.view !== 'full'
        ? nothing
        : html`<button type="button" class="button" aria-pressed=${view.companion.comparing} title="Pins this configuration as A; what you change becomes B" @click=${() => view.companion.compare(!view.companion.comparing)}>
            ${icons.compare()}<span>Compare</span>
          </button>`
    }
    <span class="steps ways">
      <button type="button" class="button copy" @click=${view.copyLink}>
        ${view.copied ? icons.check() : icons.link()}<span>${view.copied ? 'Copied' : 'Copy link'}</span>
      </button>
      ${
        home
          ? html`<a class="button" href=${home} target="_blank" rel="noopener">${icons.open()}<span>Open in trainmem</span></a>`
          : nothing
      }
    </span>
  </div>`;
}

export const toolbarStyles = css`
  .toolbar {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px;
    margin-block-start: 16px;
  }
  .oneof {
    display: flex;
    margin: 0;
    padding: 2px;
    border: 1px solid var(--hairline);
    border-radius: 8px;
    background: var(--sunken);
  }
  .oneof label {
    position: relative;
    cursor: pointer;
  }
  .oneof input {
    position: absolute;
    inset: 0;
    margin: 0;
    opacity: 0;
    cursor: pointer;
  }
  .oneof span {
    display: grid;
    place-items: center;
    min-inline-size: 48px;
    min-block-size: 28px;
    padding-inline: 6px;
    border-radius: 6px;
    font-size: 13.5px;
    font-weight: 550;
  }
  .oneof input:checked + span {
    background: var(--surface);
    box-shadow: 0 0 0 1px var(--hairline);
  }
  @media (forced-colors: active) {
    .oneof input:checked + span {
      forced-color-adjust: none;
      color: HighlightText;
      background: Highlight;
    }
  }
  .oneof input:focus-visible + span {
    outline: 2px solid var(--accent);
  }
  .steps {
    display: flex;
    gap: 4px;
  }
  .ways {
    gap: 8px;
    margin-inline-start: auto;
  }
  .button[aria-pressed='true'] {
    padding-inline: 11px;
    border: 2px solid var(--accent);
  }
  .button:disabled {
    color: var(--outline);
    border-color: var(--hairline);
    cursor: default;
  }
  .icononly {
    inline-size: 34px;
    padding: 0;
  }
  .copy {
    min-inline-size: 112px;
  }
  a.button {
    color: inherit;
    text-decoration: none;
  }
  @media (pointer: coarse) {
    .oneof span {
      min-block-size: 44px;
    }
    .icononly {
      inline-size: 44px;
    }
  }
  @container (max-width: 560px) {
    .toolbar .button:not(.icononly) {
      flex: 1;
      padding-inline: 8px;
    }
    .ways {
      flex: 1 1 40%;
      flex-wrap: wrap;
    }
  }
  .printed {
    display: none;
    inline-size: 100%;
    overflow-wrap: anywhere;
  }
  @media print {
    .toolbar > *,
    .oneof {
      display: none;
    }
    .toolbar > .printed {
      display: block;
    }
  }
`;
