// Says the headline to screen readers, and in the title of the page, once it has stood still for a while.

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

  /** `title` is that of the page, where the page is the calculator's own. */
  say(text: string, title?: string): void {
    if (text === this.text) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.text = text;
      if (title) document.title = title;
      this.host.requestUpdate();
    }, pause);
  }
}
