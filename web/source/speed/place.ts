// Where the panel about speed will stand: far below, so it is fetched when its place comes near.

import { html, type ReactiveController, type ReactiveControllerHost, type TemplateResult } from 'lit';
import type { Result } from '../border.js';
import type { View } from '../views/view.js';

type Host = ReactiveControllerHost & View & { renderRoot: HTMLElement | DocumentFragment };

export class SpeedPlace implements ReactiveController {
  private panel: typeof import('./speed.js') | undefined;
  private nearness: IntersectionObserver | undefined;

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  render(result: Result): TemplateResult {
    return this.panel ? this.panel.speed(this.host, result) : html`<div class="speedplace"></div>`;
  }

  hostUpdated(): void {
    const place = this.host.renderRoot.querySelector('.speedplace');
    if (!place || this.nearness) return;
    this.nearness = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) void this.fetch();
      },
      { rootMargin: '500px' },
    );
    this.nearness.observe(place);
  }

  hostDisconnected(): void {
    this.nearness?.disconnect();
    this.nearness = undefined;
  }

  private async fetch(): Promise<void> {
    this.nearness?.disconnect();
    const loaded = await import('./speed.js');
    if (this.panel) return;
    const root = this.host.renderRoot as ShadowRoot;
    const sheets = loaded.speedStyles.map(style => style.styleSheet).filter(sheet => sheet !== undefined);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, ...sheets];
    this.panel = loaded;
    this.host.requestUpdate();
  }
}
