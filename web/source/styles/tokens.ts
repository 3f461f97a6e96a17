// Colours, type and spacing. Every colour follows the reader's scheme through light-dark(); hosts override the
// --trainmem-* properties. The ten component colours keep a contrast of 3:1 to the background in both schemes and stay
// apart in simulated protanopia, deuteranopia and tritanopia; gaps and labels carry the same information.

import { css, unsafeCSS } from 'lit';
import { componentNames } from '../components.js';

export const fills: Record<string, [light: string, dark: string]> = {
  weights: ['#1b3a92', '#4b6ecc'],
  master_weights: ['#3d68bc', '#5cabf2'],
  gradients: ['#3198d1', '#b3e8fb'],
  optimizer_states: ['#006472', '#64a0ad'],
  activations: ['#c86f13', '#f4a437'],
  logits_and_loss: ['#9d2e1c', '#d06030'],
  optimizer_temporaries: ['#562159', '#99519e'],
  gathered_parameters: ['#be5ea5', '#e4a8d2'],
  communication: ['#2f8856', '#7cc58c'],
  workspace: ['#78797b', '#7e8084'],
  cached: ['#8d8c86', '#6d7078'],
  outside: ['#77766f', '#8b8e96'],
};
const partNames = [...componentNames, 'cached', 'outside'] as const;

const properties = Object.entries(fills)
  .map(
    ([name, [light, dark]]) =>
      `--${name}: var(--trainmem-${name.replaceAll('_', '-')}, light-dark(${light}, ${dark}));`,
  )
  .join('\n');
const uses = partNames
  .map(
    name => `[data-part='${name}'] { --fill: var(--${name}); }
.hot-${name} [data-part]:not([data-part='${name}']) { opacity: 0.28; }`,
  )
  .join('\n');

export const tokens = css`
  :host {
    ${unsafeCSS(properties)}
    --background: var(--trainmem-background, light-dark(#faf9f6, #131417));
    --surface: var(--trainmem-surface, light-dark(#ffffff, #1b1d21));
    --sunken: var(--trainmem-sunken, light-dark(#f1efe9, #24262b));
    --ink: var(--trainmem-ink, light-dark(#1b1c1f, #ececea));
    --muted: var(--trainmem-muted, light-dark(#5c5e64, #a3a6ad));
    --hairline: var(--trainmem-hairline, light-dark(#e2dfd7, #33363c));
    --outline: var(--trainmem-outline, light-dark(#8b8a83, #767a83));
    --accent: var(--trainmem-accent, light-dark(#1d4fc4, #8fb4ff));
    --good: var(--trainmem-good, light-dark(#14703f, #6fd09a));
    --warn: var(--trainmem-warn, light-dark(#8a5a00, #f0bd4f));
    --bad: var(--trainmem-bad, light-dark(#b3261e, #ff9a8f));
    --radius: var(--trainmem-radius, 10px);
    --font: var(
      --trainmem-font,
      system-ui,
      'Segoe UI',
      Roboto,
      sans-serif
    );
    --mono: var(--trainmem-mono, ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, Consolas, monospace);
  }
  ${unsafeCSS(uses)}
`;
