// Points of a sweep, asked for a few at a time, so that the panel fills and an edit can end it between two of them.

import type { SweepPoint } from './answers.js';
import type { Asker } from './asker.js';

const atATime = 4;

/** One sweep that is kept up to date: of one link and path it is asked once. */
export class Sweeper {
  private key = '';
  private found: SweepPoint[] | undefined;

  constructor(
    private readonly slot: string,
    private readonly changed: () => void,
  ) {}

  /** Complete sweeps only: bars that come one by one would move. */
  get points(): SweepPoint[] | undefined {
    return this.found;
  }

  async show(asker: Asker, link: string, path: string, values: readonly string[]): Promise<void> {
    const key = `${path} ${values.join()} ${link}`;
    if (key === this.key) return;
    if (!this.key.startsWith(`${path} `)) this.found = undefined;
    this.key = key;
    const points: SweepPoint[] = [];
    for (let at = 0; at < values.length; at += atATime) {
      const answer = await asker.ask(this.slot, 'sweep', link, path, values.slice(at, at + atATime).join());
      if (this.key !== key || !answer?.ok) return;
      points.push(...answer.points);
    }
    this.found = points;
    this.changed();
  }

  /** What was found belongs to an element that has left the page. */
  forget(): void {
    this.key = '';
  }
}
