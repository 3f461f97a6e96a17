// A button that goes with what it did, or can do no more, hands its focus to what stands nearest: first to Undo, where
// its part of the page has that. Without this a reader without a mouse begins at the top of the page again.

import type { ReactiveController, ReactiveControllerHost } from 'lit';

const first = '.steps :enabled, .toolbar [aria-pressed]';
const any = ':is(button, input, select, a):enabled, a[href]';

type Host = ReactiveControllerHost & { readonly renderRoot: HTMLElement | DocumentFragment };

export class FocusKept implements ReactiveController {
  /** What has the focus, and all that it stands in. */
  private path: Element[] = [];

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  hostUpdate(): void {
    this.path = [];
    const root = this.host.renderRoot as ShadowRoot;
    for (let at = root.activeElement; at; at = at.parentElement) this.path.push(at);
  }

  hostUpdated(): void {
    const [had, ...around] = this.path;
    if (!had || (had.isConnected && !had.matches(':disabled'))) return;
    const place = around.find(one => one.isConnected && one.querySelector(any));
    const next = place?.querySelector<HTMLElement>(first) ?? place?.querySelector<HTMLElement>(any);
    next?.focus({ preventScroll: true });
  }
}
