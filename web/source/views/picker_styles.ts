// How the three buttons look that open the lists of presets.

import { css } from 'lit';

export const pickerStyles = css`
  .pickers {
    display: grid;
    gap: 12px;
  }
  .picker {
    position: relative;
    min-inline-size: 0;
  }
  .pick {
    position: relative;
    display: grid;
    inline-size: 100%;
    block-size: 100%;
    min-block-size: 84px;
    align-content: start;
    padding: 11px 40px 11px 16px;
    background: var(--surface);
    border: 1px solid var(--hairline);
    border-radius: var(--radius);
    text-align: start;
    cursor: pointer;
  }
  .pick:disabled {
    cursor: default;
  }
  .pick:not(:disabled):hover,
  .pick[aria-expanded='true'] {
    border-color: var(--outline);
  }
  .pick > .chevron {
    position: absolute;
    inset-inline-end: 14px;
    inset-block-start: calc(50% - 8px);
  }
  .pick > span {
    overflow-wrap: anywhere;
  }
  .eyebrow {
    color: var(--muted);
    font-size: 12px;
    font-weight: 550;
    line-height: 1.5;
  }
  .picked {
    font-size: 17px;
    font-weight: 640;
    line-height: 1.35;
    letter-spacing: -0.008em;
  }
  .summary {
    font-size: 12.5px;
  }
  .edits {
    position: absolute;
    inset-block-start: 8px;
    inset-inline-end: 14px;
    min-block-size: 24px;
    font-size: 12px;
  }
  @media (pointer: coarse) {
    .edits {
      min-block-size: 44px;
    }
  }
  @container (min-width: 720px) {
    .pickers {
      grid-template-columns: 1fr 1fr 1.15fr;
    }
  }
  @container (max-width: 719px) {
    .pickers {
      gap: 0;
    }
    .pick {
      grid-template-columns: 58px minmax(0, 1fr);
      align-content: center;
      align-items: baseline;
      min-block-size: 48px;
      padding-block: 6px;
      border-radius: 0;
    }
    .picker:first-child .pick {
      border-radius: var(--radius) var(--radius) 0 0;
    }
    .picker:last-child .pick {
      border-radius: 0 0 var(--radius) var(--radius);
    }
    .picker + .picker .pick {
      border-block-start-color: transparent;
    }
    .pick > .picked {
      font-size: 15.5px;
    }
    .pick .summary {
      display: none;
    }
    .picker:has(.edits) .pick {
      padding-inline-end: 146px;
    }
    .edits {
      inset-block: 0;
      inset-inline-end: 40px;
      padding-inline-start: 8px;
      background: var(--surface);
      block-size: fit-content;
      margin-block: auto;
    }
  }
  /* No room beside the name: below it. */
  @container (max-width: 340px) {
    .picker:has(.edits) .pick {
      padding-inline-end: 40px;
      padding-block-end: 34px;
    }
    .edits {
      inset-block: auto 2px;
      inset-inline-end: 14px;
    }
    @media (pointer: coarse) {
      .picker:has(.edits) .pick {
        padding-block-end: 48px;
      }
    }
  }
`;
