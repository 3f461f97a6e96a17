// What of import and export every visit carries: the doors to them. What is behind is fetched when one is opened.

import type { View } from '../views/view.js';

type Host = View & HTMLElement & { view: string; renderRoot: HTMLElement | DocumentFragment };

export class Sharing {
  constructor(
    private readonly host: Host,
    private readonly address: () => string,
  ) {}

  async bring(file?: File): Promise<void> {
    const [{ openImport }] = await this.wholly(import('./open.js'));
    await openImport(this.host, file);
  }

  async take(): Promise<void> {
    const [{ openExport }] = await this.wholly(import('./open.js'));
    openExport(this.host, this.address());
  }

  /** A dialog, and the engine. */
  private wholly<Dialogs>(dialogs: Promise<Dialogs>): Promise<[Dialogs, unknown]> {
    return Promise.all([dialogs, this.host.calculator.state.engine?.finish?.()]);
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
  (await import('../offline.js')).workOffline();
}
