// What of import and export every visit carries: the doors to them. What is behind is fetched when one is opened.

import type { View } from '../views/view.js';

type Host = View & HTMLElement & { view: string; renderRoot: HTMLElement | DocumentFragment };

export class Sharing {
  constructor(
    private readonly host: Host,
    private readonly address: () => string,
  ) {}

  bring(file?: File): Promise<void> {
    const load = () => import('./open_import.js');
    return this.wholly(load, ({ openImport }) => openImport(this.host, file));
  }

  take(): Promise<void> {
    const load = () => import('./open.js');
    return this.wholly(load, ({ openExport }) => openExport(this.host, this.address()));
  }

  /** With the dialog and the engine, or with a word why not. */
  private async wholly<Dialog>(load: () => Promise<Dialog>, open: (dialog: Dialog) => unknown): Promise<void> {
    const { calculator } = this.host;
    try {
      const [dialog] = await Promise.all([load().catch(load), calculator.state.engine?.finish?.()]);
      await open(dialog);
    } catch {
      calculator.state.remark = {
        text: 'This dialog could not be fetched. Check the network and try again.',
        warning: true,
      };
      calculator.redraw();
    }
  }

  /** A file dropped on the calculator is one to bring; anything else is left to the browser. */
  dragged = (event: DragEvent): void => {
    const { host } = this;
    if (host.readonly || host.view === 'bar' || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    if (event.type === 'drop' && file && host.calculator.state.engine) this.bring(file);
  };
}

/** The page opens without a network from the next visit on; the one-file page does so by itself. */
export async function keepForOffline(): Promise<void> {
  if (location.protocol === 'file:') return;
  // Where it does not come there is nothing to keep.
  const offline = await import('../offline.js').catch(() => undefined);
  offline?.workOffline();
}
