// Has the answer been scrolled out of sight, upwards? Then a slim line says it again.

import type { ReactiveController, ReactiveControllerHost } from 'lit';

type Host = ReactiveControllerHost & { view: string; renderRoot: HTMLElement | DocumentFragment };

export class OutOfSight implements ReactiveController {
  away = false;
  private watcher: IntersectionObserver | undefined;
  private watched: Element | null = null;

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  hostUpdated(): void {
    const answer = this.host.renderRoot.querySelector('.answer');
    if (answer === this.watched || this.host.view !== 'full') return;
    this.watcher?.disconnect();
    this.watched = answer;
    this.watcher = new IntersectionObserver(([entry]) => {
      const away = entry !== undefined && !entry.isIntersecting && entry.boundingClientRect.top < 0;
      if (away === this.away) return;
      this.away = away;
      this.host.requestUpdate();
    });
    if (answer) this.watcher.observe(answer);
  }

  hostDisconnected(): void {
    this.watcher?.disconnect();
    this.watched = null;
  }
}
