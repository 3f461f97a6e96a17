// Opens the dialogs. This file and all that it imports are fetched when one is first opened, or a file is dropped.

import { render } from 'lit';
import type { View } from '../views/view.js';
import { dialogStyles } from './dialog.js';
import { ExportDialog } from './export_dialog.js';
import { ImportDialog } from './import_dialog.js';

type Host = View & HTMLElement & { renderRoot: HTMLElement | DocumentFragment };

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

function show<D extends Dialog>(host: Host, make: (redraw: () => void, close: () => void) => D): D {
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

export async function openImport(host: Host, file?: File): Promise<void> {
  const made = show(host, (redraw, close) => new ImportDialog(host, redraw, close));
  await made.readFile(file);
}

export function openExport(host: Host, address: string): void {
  show(host, (redraw, close) => new ExportDialog(host, address, redraw, close));
}
