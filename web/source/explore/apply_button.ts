// The button with which a panel takes a configuration into the fields.

import { html, nothing } from 'lit';
import type { Config } from '../border.js';
import type { Explorer } from './panel.js';

/** `words` say what is applied, to ears and beside the button that undoes it. Nothing where nothing may be changed. */
export function applyButton(explorer: Explorer, verb: 'Apply' | 'Use', words: string, config: Config) {
  if (explorer.readonly) return nothing;
  return html`<button type="button" class="button" aria-label="${verb}: ${words}" @click=${() => explorer.apply(config, words)}>
    ${verb}
  </button>`;
}
