// A panel whose heading opens and closes it; while it is closed, one line says what it would show.

import { css, html, nothing } from 'lit';
import { turn } from '../folds.js';

/** Whoever keeps which panels stand open. */
export interface Folds {
  readonly open: ReadonlySet<string>;
  toggle(id: string): void;
}

export function fold(folds: Folds, id: string, title: string, gist: unknown, body: () => unknown, busy = false) {
  const open = folds.open.has(id);
  return html`<section class="panel fold" id=${id} aria-label=${title} aria-busy=${busy}>
    <h3>
      <button type="button" class="unfold" aria-expanded=${open} @click=${turn(() => folds.toggle(id))}>
        <span>${title}</span>${open || !gist ? nothing : html`<span class="gist muted">${gist}</span>`}<i class="chevron"></i>
      </button>
    </h3>
    ${open ? body() : nothing}
  </section>`;
}

export const foldStyles = css`
  .panel.fold {
    padding-block: 0;
  }
  .fold > :last-child:not(h3) {
    margin-block-end: 20px;
  }
  .fold > .lead {
    margin-block-start: -8px;
  }
  .unfold {
    display: flex;
    align-items: center;
    gap: 4px 14px;
    inline-size: 100%;
    min-block-size: 56px;
    padding: 0;
    border: 0;
    background: none;
    font-weight: inherit;
    text-align: start;
    cursor: pointer;
  }
  .unfold > span:first-child {
    flex: none;
  }
  .unfold > .gist {
    flex: 1;
    min-inline-size: 0;
    font-size: 13.5px;
    font-weight: 400;
    text-align: end;
    text-wrap: balance;
  }
  .unfold > .chevron {
    margin-inline-start: auto;
  }
  .opener[aria-expanded='false'] > .chevron,
  .unfold[aria-expanded='false'] > .chevron,
  .group:not([open]) > summary > .chevron {
    background:
      linear-gradient(225deg, var(--stroke)) 6px 3px / 5px 5px no-repeat,
      linear-gradient(-45deg, var(--stroke)) 6px 8px / 5px 5px no-repeat;
  }
  .unfold:hover > span:first-child {
    text-decoration: underline;
    text-underline-offset: 0.2em;
    text-decoration-thickness: 1px;
  }
  @container (max-width: 560px) {
    .unfold {
      flex-wrap: wrap;
      position: relative;
      padding-block: 12px;
      padding-inline-end: 28px;
    }
    .unfold > span:first-child {
      flex: 0 1 auto;
    }
    .unfold > .gist {
      flex-basis: 100%;
      text-align: start;
    }
    .unfold > .chevron {
      position: absolute;
      inset-inline-end: 0;
      inset-block-start: calc(50% - 8px);
    }
  }
  @media print {
    .fold:has(> h3 > [aria-expanded='false']),
    .fold[aria-busy='true'],
    .unfold > .chevron {
      display: none;
    }
  }
`;
