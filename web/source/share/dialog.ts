// A dialog inside the element: its frame, its styles, and how it closes. Loaded when one is first opened.

import { css, html, type TemplateResult } from 'lit';
import { icons } from '../views/icons.js';

export function dialog(title: string, close: () => void, body: TemplateResult) {
  return html`<dialog aria-label=${title} @close=${close} @click=${(event: MouseEvent) => {
    if (event.target === event.currentTarget) close();
  }}>
    <div class="sheet">
      <header>
        <h3>${title}</h3>
        <button type="button" class="button icononly" aria-label="Close" @click=${close}>${icons.cross()}</button>
      </header>
      ${body}
    </div>
  </dialog>`;
}

export const dialogStyles = css`
  dialog {
    inline-size: min(880px, calc(100vw - 24px));
    max-block-size: calc(100dvh - 12px - min(7dvh, 64px));
    /* It grows downwards while one types. */
    margin: min(7dvh, 64px) auto auto;
    padding: 0;
    border: 1px solid var(--hairline);
    border-radius: calc(var(--radius) + 4px);
    background: var(--surface);
    color: var(--ink);
    font: 400 14.5px/1.5 var(--font);
    overflow: auto;
  }
  dialog::backdrop {
    background: rgb(0 0 0 / 45%);
  }
  .sheet {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 14px;
    padding: 18px 20px 20px;
  }
  .sheet header {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: 12px;
  }
  .sheet h3 {
    font-size: 18px;
    font-weight: 640;
  }
  .sheet h4 {
    margin-block-end: 4px;
    font-size: 14px;
    font-weight: 640;
  }
  .sheet textarea,
  .sheet pre {
    inline-size: 100%;
    margin: 0;
    padding: 10px 12px;
    border: 1px solid var(--outline);
    border-radius: 8px;
    background: var(--sunken);
    color: inherit;
    font: 13px/1.5 var(--mono);
    tab-size: 2;
  }
  .sheet textarea {
    min-block-size: 148px;
    resize: vertical;
  }
  .sheet pre {
    max-block-size: 44dvh;
    overflow: auto;
    white-space: pre;
  }
  .sheet .line {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 12px;
  }
  /* The answer stays in sight, however long what was read is. */
  .sheet > .line:last-child {
    position: sticky;
    inset-block-end: 0;
    margin-block-end: -20px;
    padding-block-end: 20px;
    background: var(--surface);
    box-shadow: 0 -8px 8px var(--surface);
  }
  /* What was read, or why it cannot be, takes the room of what can be. */
  @media (max-width: 560px) {
    .sheet .begun {
      display: none;
    }
  }
  @media (max-height: 480px) {
    .sheet > .line:last-child {
      position: static;
    }
  }
  .sheet .line > p {
    flex: 1;
    min-inline-size: min(24ch, 100%);
  }
  .sheet .gpus {
    inline-size: 104px;
  }
  .sheet .gpus.wrong {
    border-color: var(--bad);
  }
  .sheet .primary {
    border-color: transparent;
    background: var(--accent);
    color: var(--surface);
  }
  .sheet .primary:disabled {
    opacity: 0.5;
    cursor: default;
  }
  .sheet .scroll {
    max-block-size: 30dvh;
    overflow: auto;
    border: 1px solid var(--hairline);
    border-radius: 8px;
  }
  .sheet table {
    inline-size: 100%;
    border-collapse: collapse;
    font-size: 13px;
  }
  .sheet th,
  .sheet td {
    padding: 4px 10px;
    border-block-end: 1px solid var(--hairline);
    text-align: start;
    vertical-align: top;
    overflow-wrap: anywhere;
  }
  .sheet th {
    font-weight: 600;
    white-space: nowrap;
  }
  .sheet td:not(:first-child) {
    overflow-wrap: normal;
  }
  .sheet .bad {
    color: var(--bad);
  }
  .sheet .choices {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
  }
  .sheet .choices [aria-selected='true'] {
    border-color: var(--accent);
    box-shadow: inset 0 0 0 1px var(--accent);
  }
  @media (forced-colors: active) {
    .sheet .choices [aria-selected='true'] {
      forced-color-adjust: none;
      color: HighlightText;
      background: Highlight;
    }
  }
  .sheet img {
    display: block;
    max-inline-size: 100%;
    block-size: auto;
    border: 1px solid var(--hairline);
    border-radius: 8px;
  }
  .file {
    position: relative;
    overflow: hidden;
  }
  .file input {
    position: absolute;
    inset: 0;
    opacity: 0;
    cursor: pointer;
  }
  .file:focus-within {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  @media (pointer: coarse) {
    .sheet .button {
      min-block-size: 44px;
    }
    /* Fingers drop no files. */
    .file + .muted {
      display: none;
    }
  }
`;
