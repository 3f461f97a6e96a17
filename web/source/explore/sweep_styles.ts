// How sweeps look: columns to scale, a capacity line, ticks below.

import { css } from 'lit';

export const sweepStyles = css`
  .axes {
    display: flex;
    flex-wrap: wrap;
    gap: 4px;
    margin: 0 0 14px;
    padding: 0;
    border: 0;
  }
  .axes label {
    position: relative;
    cursor: pointer;
  }
  .axes input {
    position: absolute;
    inset: 0;
    margin: 0;
    opacity: 0;
    cursor: pointer;
  }
  .axes span {
    display: grid;
    place-items: center;
    min-block-size: 34px;
    padding-inline: 12px;
    border: 1px solid var(--hairline);
    border-radius: 8px;
    font-size: 13.5px;
    font-weight: 550;
  }
  .axes input:checked + span {
    border-color: var(--accent);
    box-shadow: inset 0 0 0 1px var(--accent);
  }
  @media (forced-colors: active) {
    .axes input:checked + span {
      forced-color-adjust: none;
      color: HighlightText;
      background: Highlight;
    }
  }
  .axes input:focus-visible + span {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .sweep {
    position: relative;
    block-size: 262px;
  }
  .columns-chart {
    display: flex;
    block-size: 100%;
  }
  .columns-chart > li {
    flex: 1 1 0;
    min-inline-size: 0;
  }
  .columns-chart > .stop {
    flex: none;
    inline-size: 0;
    margin-block-end: 26px;
    border-inline-start: 2px dashed var(--bad);
  }
  .column-button {
    display: flex;
    flex-direction: column;
    inline-size: 100%;
    block-size: 100%;
    padding: 0 min(8%, 8px);
    border: 0;
    border-radius: 6px;
    background: none;
    cursor: pointer;
  }
  .column-button:hover .stack {
    background: color-mix(in oklab, var(--accent) 12%, var(--sunken));
  }
  .column-button:focus-visible {
    outline-offset: -2px;
  }
  .stack {
    position: relative;
    flex: 1;
    display: flex;
    flex-direction: column-reverse;
    min-block-size: 0;
    overflow: hidden;
    background: var(--sunken);
    border-radius: 4px 4px 0 0;
  }
  .slab {
    flex: none;
    background: var(--fill);
    border-block-start: 1px solid var(--surface);
  }
  .none {
    background: repeating-linear-gradient(-45deg, var(--sunken) 0 5px, transparent 5px 10px);
  }
  .cut {
    position: absolute;
    inset-block-start: 0;
    inset-inline: 0;
    padding-block: 2px 3px;
    background: var(--surface);
    border-block-end: 3px double var(--bad);
    font-size: 11px;
    line-height: 1.2;
    overflow: hidden;
  }
  .tick {
    flex: none;
    block-size: 26px;
    padding-block-start: 4px;
    font-size: 12px;
    white-space: nowrap;
  }
  .present .tick {
    font-weight: 700;
    text-decoration: underline;
    text-decoration-thickness: 2px;
    text-underline-offset: 3px;
  }
  .line {
    position: absolute;
    inset-inline: 0;
    border-block-start: 2px solid var(--ink);
    pointer-events: none;
  }
  .line span {
    position: absolute;
    inset-inline-start: 4px;
    inset-block-end: 2px;
    padding-inline: 5px;
    border-radius: 5px;
    background: var(--surface);
    font-size: 12px;
    font-weight: 600;
  }
  .said {
    min-block-size: 24px;
    padding-block-start: 4px;
    font-size: 13.5px;
  }
  .astable summary {
    display: inline-flex;
    align-items: center;
    min-block-size: 30px;
    color: var(--accent);
    font-size: 13.5px;
    text-decoration: underline;
    text-underline-offset: 0.18em;
    cursor: pointer;
  }
  .scroller {
    overflow-x: auto;
  }
  .astable table {
    border-collapse: collapse;
    font-size: 13px;
  }
  .astable th,
  .astable td {
    padding: 5px 14px 5px 0;
    border-block-end: 1px solid var(--hairline);
    text-align: start;
    white-space: nowrap;
  }
  @media (pointer: coarse) {
    .axes span,
    .astable summary {
      min-block-size: 44px;
    }
  }
  @media print {
    .axes label:not(:has(:checked)) {
      display: none;
    }
  }
  @container (max-width: 560px) {
    .column-button {
      padding-inline: 1px;
    }
    .tick {
      font-size: 10.5px;
    }
  }
  @container (max-width: 340px) {
    .tick {
      font-size: 10px;
      letter-spacing: -0.08em;
    }
  }
`;
