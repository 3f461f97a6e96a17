// How the three lists of presets look, closed and open.

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
    min-block-size: 84px;
    align-content: center;
    padding: 10px 40px 10px 16px;
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
  .pick > svg {
    position: absolute;
    inset-inline-end: 14px;
    inset-block-start: calc(50% - 8px);
    color: var(--muted);
  }
  .pick > span {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
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
  .list {
    position: absolute;
    z-index: 10;
    inset-block-start: calc(100% + 6px);
    inset-inline-start: 0;
    inline-size: max(100%, min(440px, 100cqi));
    background: var(--surface);
    border: 1px solid var(--hairline);
    border-radius: var(--radius);
    box-shadow: 0 14px 44px light-dark(rgb(20 18 10 / 0.16), rgb(0 0 0 / 0.6));
    overflow: hidden;
  }
  .find {
    display: flex;
    align-items: center;
    gap: 9px;
    padding-inline: 14px;
    border-block-end: 1px solid var(--hairline);
    color: var(--muted);
  }
  .find input {
    flex: 1;
    min-inline-size: 0;
    min-block-size: 44px;
    border: 0;
    outline: 0;
    background: none;
    color: var(--ink);
  }
  .find:focus-within {
    box-shadow: inset 0 -2px 0 var(--accent);
  }
  .options {
    max-block-size: min(380px, 60vh);
    padding: 4px 6px 8px;
    overflow-y: auto;
    overscroll-behavior: contain;
    scroll-padding-block: 34px 8px;
  }
  .familybox {
    content-visibility: auto;
    contain-intrinsic-block-size: auto calc(31px * var(--options) + 30px);
  }
  .family {
    padding: 10px 8px 3px 32px;
    color: var(--muted);
    font-size: 12px;
    font-weight: 550;
  }
  .option {
    display: flex;
    align-items: baseline;
    gap: 8px;
    padding: 5px 8px;
    border-radius: 7px;
    font-size: 14px;
    cursor: pointer;
  }
  .option.active {
    background: var(--sunken);
  }
  .option[aria-selected='true'] .optionname {
    font-weight: 640;
  }
  .option small {
    display: block;
    color: var(--muted);
    font-size: 12.5px;
    font-weight: 400;
    line-height: 1.4;
  }
  .optionname {
    flex: 1;
    min-inline-size: 0;
  }
  .tick {
    flex: none;
    inline-size: 16px;
    block-size: 16px;
    align-self: center;
    color: var(--accent);
  }
  .nothing {
    padding: 14px 16px;
    font-size: 14px;
  }
  @media (pointer: coarse) {
    .option {
      padding-block: 10px;
    }
    .edits {
      min-block-size: 44px;
    }
  }
  @container (min-width: 720px) {
    .pickers {
      grid-template-columns: 1fr 1fr 1.15fr;
    }
    .picker:last-child .list {
      inset-inline: auto 0;
    }
  }
  @container (max-width: 719px) {
    .pickers {
      gap: 0;
    }
    .pick {
      grid-template-columns: 58px minmax(0, 1fr);
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
      white-space: normal;
    }
    .pick .summary {
      display: none;
    }
    .edits {
      inset-block: 0;
      inset-inline-end: 40px;
      padding-inline-start: 8px;
      background: var(--surface);
      block-size: fit-content;
      margin-block: auto;
    }
    .list {
      inline-size: 100%;
    }
  }
`;
