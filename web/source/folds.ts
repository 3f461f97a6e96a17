// What stands open: rows, groups and panels. A line turns as it is clicked; what it opens is drawn after that paint, so
// that a click is answered at once.

import { afterPaint } from './after_paint.js';

export class Folds {
  /** At first the two panels that answer what to change. */
  open: ReadonlySet<string> = new Set(['advice', 'sweeps']);
  /** Is something that was opened or closed still to be drawn? */
  late = false;

  constructor(private readonly redraw: () => void) {}

  toggle(id: string, open: boolean): void {
    if (open === this.open.has(id)) return;
    const others = [...this.open].filter(one => one !== id);
    this.open = new Set(open ? [...others, id] : others);
    if (this.late) return;
    this.late = true;
    afterPaint(() => {
      this.late = false;
      this.redraw();
    });
  }
}

/** For the click on a line that opens and closes: the line shows it by itself, and `act` sees to what it opens. */
export const turn = (act: () => void) => (event: Event) => {
  const line = event.currentTarget as Element;
  line.setAttribute('aria-expanded', String(line.getAttribute('aria-expanded') === 'false'));
  act();
};
