// Words that several panels share: what a change sets, and whether something fits.

import { css, html } from 'lit';
import type { Field, Scalar, Setting, Verdict } from '../border.js';
import { fieldLabel } from '../fields.js';
import { gigabytes, type Units } from '../format.js';
import { formatNumber } from '../number_grammar.js';
import { optionLabel } from '../option_labels.js';
import { icons } from '../views/icons.js';

function valueWords(field: Field | undefined, value: Scalar): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return formatNumber(value);
  return field ? optionLabel(field, value) : value;
}

/** "Micro-batch size 8 → 1" */
export function settingWords(fields: readonly Field[], { path, from, to }: Setting): string {
  const field = fields.find(one => one.path === path);
  const name = field ? fieldLabel(field) : path.slice(path.lastIndexOf('/') + 1);
  return `${name} ${valueWords(field, from)} \u2192 ${valueWords(field, to)}`;
}

const words: Record<Verdict['fit'], string> = {
  fits: 'fits',
  tight: 'tight',
  does_not_fit: 'does not fit',
  unknown: '',
};

/** What takes more than there is and fits all the same says how. */
export const fitWords = ({ fit, margin }: Verdict) =>
  fit === 'tight' && margin < 0 ? 'fits without cache' : words[fit];

/** A small badge: an icon and a word, never colour alone. */
export function fitBadge(verdict: Verdict) {
  const { fit } = verdict;
  const icon = fit === 'fits' ? icons.check() : fit === 'does_not_fit' ? icons.cross() : icons.warning();
  return html`<span class="fit ${fit}">${icon}${fitWords(verdict)}</span>`;
}

export function marginWords({ fit, margin }: Verdict, units: Units): string {
  if (fit === 'tight' && margin < 0) return 'without cached blocks';
  return `${gigabytes(Math.abs(margin), units)} ${margin < 0 ? 'missing' : 'to spare'}`;
}

export const fitStyles = css`
  .fit {
    display: inline-flex;
    align-items: center;
    gap: 4px;
    font-size: 12.5px;
    font-weight: 600;
    white-space: nowrap;
  }
  .fit.fits {
    color: var(--good);
  }
  .fit.tight {
    color: var(--warn);
  }
  .fit.does_not_fit {
    color: var(--bad);
  }
`;
