// What stands below the answer follows it one frame later: the first paint after an edit costs no more than the answer.

import { noChange, nothing, type ReactiveController, type ReactiveControllerHost } from 'lit';
import { afterPaint } from './after_paint.js';
import type { GoodAnswer } from './border.js';
import type { Units } from './format.js';

interface Shown {
  good?: GoodAnswer;
  units: Units;
}

type Host = ReactiveControllerHost & { page: boolean; view: string; calculator: { readonly state: Shown } };

export class Below implements ReactiveController {
  private drawn: Shown | undefined;
  private waits = false;

  /** `ready`: is the script here that draws it? */
  constructor(
    private readonly host: Host,
    private readonly ready: () => boolean = () => true,
  ) {
    host.addController(this);
  }

  /** Does it belong to an older answer still? */
  get late(): boolean {
    const { good, units } = this.host.calculator.state;
    return good !== undefined && (!this.ready() || this.drawn?.good !== good || this.drawn.units !== units);
  }

  /** Is the first answer on the screen, so that anything may stand below it? */
  get begun(): boolean {
    return this.ready() && (!this.late || this.drawn?.good !== undefined);
  }

  /** What `content` gives, or what was drawn before where that is late. */
  draw(content: () => unknown): unknown {
    if (!this.late) return content();
    return this.begun ? noChange : nothing;
  }

  /** An embed takes its place on another's page at once: its first answer comes whole. */
  hostUpdate(): void {
    if ((!this.host.page && !this.begun) || this.host.view !== 'full') this.catchUp();
  }

  hostUpdated(): void {
    if (!this.late || this.waits) return;
    this.waits = true;
    afterPaint(() => {
      this.waits = false;
      this.catchUp();
      this.host.requestUpdate();
    });
  }

  private catchUp(): void {
    const { good, units } = this.host.calculator.state;
    this.drawn = good ? { good, units } : { units };
  }
}
