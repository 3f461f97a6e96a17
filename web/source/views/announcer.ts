// Says the headline to screen readers, once it has stood still for a while.

import type { ReactiveController, ReactiveControllerHost } from 'lit';

const pause = 500;

export class Announcer implements ReactiveController {
  /** What the live region holds. */
  text = '';
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly host: ReactiveControllerHost) {
    host.addController(this);
  }

  hostDisconnected(): void {
    clearTimeout(this.timer);
  }

  say(text: string): void {
    if (text === this.text) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.text = text;
      this.host.requestUpdate();
    }, pause);
  }
}
