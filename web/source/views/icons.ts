// Line icons, 16 px, drawn in the colour of the text around them.

import { html, svg, type TemplateResult } from 'lit';

const icon = (content: TemplateResult) => html`<svg
  width="16"
  height="16"
  viewBox="0 0 16 16"
  fill="none"
  stroke="currentColor"
  stroke-width="1.6"
  stroke-linecap="round"
  stroke-linejoin="round"
  aria-hidden="true"
>
  ${content}
</svg>`;

export const icons = {
  link: () =>
    icon(
      svg`<path d="M6.6 9.4a2.8 2.8 0 0 0 4 0l2.3-2.3a2.8 2.8 0 0 0-4-4l-.8.8M9.4 6.6a2.8 2.8 0 0 0-4 0L3.1 8.9a2.8 2.8 0 0 0 4 4l.8-.8"/>`,
    ),
  check: () => icon(svg`<path d="m3 8.5 3.2 3.2L13 4.8"/>`),
  cross: () => icon(svg`<path d="m4 4 8 8M12 4l-8 8"/>`),
  warning: () => icon(svg`<path d="M8 2.2 14.4 13.4H1.6ZM8 6.4v3.2M8 11.5v.1"/>`),
  reset: () => icon(svg`<path d="M3 3v3.4h3.4M3.3 6.2A5.2 5.2 0 1 1 2.9 9.5"/>`),
  undo: () => icon(svg`<path d="M5.5 3 2.5 6l3 3M2.8 6h6.4a3.6 3.6 0 0 1 0 7.2H6"/>`),
  compare: () => icon(svg`<path d="M2.5 4.5h11M2.5 7.5h6M2.5 11.5h8"/>`),
  redo: () => icon(svg`<path d="m10.5 3 3 3-3 3M13.2 6H6.8a3.6 3.6 0 0 0 0 7.2H10"/>`),
  search: () => icon(svg`<circle cx="7" cy="7" r="4.3"/><path d="m10.3 10.3 3 3"/>`),
  sun: () =>
    icon(
      svg`<circle cx="8" cy="8" r="2.9"/><path d="M8 1.4v1.3M8 13.3v1.3M1.4 8h1.3M13.3 8h1.3M3.3 3.3l1 1M11.7 11.7l1 1M3.3 12.7l1-1M11.7 4.3l1-1"/>`,
    ),
  moon: () => icon(svg`<path d="M13.4 9.7A5.7 5.7 0 0 1 6.3 2.6a5.7 5.7 0 1 0 7.1 7.1Z"/>`),
  into: () => icon(svg`<path d="M8 2v7.5M5 6.8l3 3 3-3M2.5 10.5v3h11v-3"/>`),
  out: () => icon(svg`<path d="M8 9.6V2M5 4.8l3-3 3 3M2.5 10.5v3h11v-3"/>`),
  open: () => icon(svg`<path d="M6.5 3.5h-3v9h9v-3M9 2.8h4.2V7M13 3 7.6 8.4"/>`),
};
