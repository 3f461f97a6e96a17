// Opens the dialogs: that of export, which is fetched with this, and that of import (open_import.ts).

import { render } from 'lit';
import type { View } from '../views/view.js';
import { dialogStyles } from './dialog.js';
import { ExportDialog } from './export_dialog.js';

export type Host = View & HTMLElement & { renderRoot: HTMLElement | DocumentFragment };

/** Gives the place for dialogs in the element, with its styles once. */
function place(host: Host): HTMLElement {
  const root = host.renderRoot as ShadowRoot;
  const sheet = dialogStyles.styleSheet;
  if (sheet && !root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  return root.querySelector<HTMLElement>('.dialogs')!;
}

interface Dialog {
  render(): unknown;
}

export function show<D extends Dialog>(host: Host, make: (redraw: () => void, close: () => void) => D): D {
  const target = place(host);
  const close = () => {
    target.querySelector('dialog')?.close();
    render(undefined, target);
  };
  const redraw = () => render(made.render(), target, { host });
  const made = make(redraw, close);
  redraw();
  target.querySelector('dialog')?.showModal();
  return made;
}

export function openExport(host: Host, address: string): void {
  show(host, (redraw, close) => new ExportDialog(host, address, redraw, close));
}
