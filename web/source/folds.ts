// What stands open: rows, groups and panels. What they hold follows a frame after the line that opens them, so that a
// click is answered at once.

import { afterPaint } from './after_paint.js';

export class Folds {
  /** At first the two panels that answer what to change. */
  open: ReadonlySet<string> = new Set(['advice', 'sweeps']);
  /** Those whose contents are drawn. */
  unfolded = this.open;

  constructor(private readonly redraw: () => void) {}

  get late(): boolean {
    return this.unfolded !== this.open;
  }

  toggle(id: string, open: boolean): void {
    if (open === this.open.has(id)) return;
    const others = [...this.open].filter(one => one !== id);
    this.open = new Set(open ? [...others, id] : others);
    this.redraw();
    afterPaint(() => {
      if (!this.late) return;
      this.unfolded = this.open;
      this.redraw();
    });
  }
}
