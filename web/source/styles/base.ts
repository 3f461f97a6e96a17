// The element's frame: layout of the sections, and what buttons, inputs and panels have in common.

import { css } from 'lit';

export const base = css`
  :host {
    display: block;
    container-type: inline-size;
    color: var(--ink);
    background: var(--background);
    font: 400 15px/1.5 var(--font);
    font-variant-numeric: tabular-nums;
    letter-spacing: normal;
    word-spacing: normal;
    text-align: start;
    text-indent: 0;
    text-transform: none;
    white-space: normal;
    -webkit-text-size-adjust: 100%;
  }
  /* On another's page it lies on that page's own colour, unless it is told another theme. */
  :host(:not([page], [theme])) {
    background: var(--trainmem-background, transparent);
  }
  :host([hidden]) {
    display: none;
  }
  :host([theme='light']) {
    color-scheme: light;
  }
  :host([theme='dark']) {
    color-scheme: dark;
  }
  :host([theme='auto']) {
    color-scheme: light dark;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  h2,
  h3,
  h4,
  p,
  ul,
  ol,
  dl,
  dd,
  figure {
    margin: 0;
    padding: 0;
  }
  ul,
  ol {
    list-style: none;
  }
  button,
  input,
  select {
    font: inherit;
    color: inherit;
    letter-spacing: inherit;
  }
  code,
  .mono {
    font-family: var(--mono);
    font-size: 0.87em;
    font-variant-ligatures: none;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  a {
    color: var(--accent);
    text-underline-offset: 0.18em;
  }
  .visually-hidden {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  /* A column that is not sized by its content is laid out once, not measured first. */
  .calculator,
  .columns,
  .column {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 20px;
  }
  .calculator {
    padding: 4px 0 0;
  }
  .columns {
    align-items: start;
  }
  .column {
    min-inline-size: 0;
  }
  /* Contained each: one that changes is laid out and painted by itself, and one that only moves is not painted again. */
  .panel {
    contain: layout style paint;
    min-inline-size: 0;
    padding: 20px;
    background: var(--surface);
    border: 1px solid var(--hairline);
    border-radius: var(--radius);
  }
  .panel > h3,
  .panelhead > h3 {
    font-size: 15px;
    font-weight: 650;
    line-height: 1.35;
  }
  .panel > .lead {
    margin-block: 2px 16px;
    max-inline-size: 68ch;
    color: var(--muted);
    font-size: 13.5px;
    text-wrap: pretty;
  }
  .button {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 6px;
    min-block-size: 34px;
    padding: 0 12px;
    border: 1px solid var(--hairline);
    border-radius: 8px;
    background: var(--surface);
    font-size: 13.5px;
    font-weight: 550;
    cursor: pointer;
    white-space: nowrap;
  }
  .button:hover {
    border-color: var(--outline);
  }
  .button svg {
    flex: none;
  }
  .quiet {
    padding: 0;
    border: 0;
    background: none;
    color: var(--accent);
    font-size: 13px;
    cursor: pointer;
    text-decoration: underline;
    text-underline-offset: 0.18em;
  }
  .swatch {
    flex: none;
    inline-size: 10px;
    block-size: 10px;
    border-radius: 3px;
    background: var(--fill);
  }
  /* Painted as a background: an SVG is a system of coordinates of its own, which every frame would have to place. */
  .chevron {
    --stroke: #0000 46%, var(--muted) 54% 66%, #0000 74%;
    flex: none;
    padding: 8px;
    background:
      linear-gradient(45deg, var(--stroke)) 3px 6px / 5px 5px no-repeat,
      linear-gradient(-45deg, var(--stroke)) 8px 6px / 5px 5px no-repeat;
  }
  .figure {
    text-align: end;
    white-space: nowrap;
  }
  .muted {
    color: var(--muted);
  }
  @media (pointer: coarse) {
    .button,
    .quiet {
      min-block-size: 44px;
    }
  }
  @container (min-width: 900px) {
    .columns {
      grid-template-columns: minmax(300px, 348px) minmax(0, 1fr);
    }
  }
  @container (max-width: 560px) {
    .calculator,
    .columns,
    .column {
      gap: 14px;
    }
    .panel {
      padding: 16px 14px;
    }
  }
  /* Colours that tell parts apart stay; gradients, which are dropped, are drawn in colours of the system. */
  @media (forced-colors: active) {
    .swatch,
    .segment,
    .slab,
    .chevron {
      forced-color-adjust: none;
    }
    .chevron {
      --stroke: #0000 46%, CanvasText 54% 66%, #0000 74%;
    }
  }
  @media print {
    :host {
      color-scheme: light !important;
      --background: #ffffff;
    }
    .segment,
    .swatch {
      print-color-adjust: exact;
    }
    .slimholder,
    .button,
    .quiet,
    .hint,
    .chevron,
    details:not([open]) {
      display: none;
    }
    .picker .pick > span {
      white-space: normal;
    }
    .columns {
      display: block;
    }
    .panel {
      break-inside: avoid;
      margin-block-end: 12px;
    }
  }
`;
