// Work that waits for the screen, or for a moment in which there is nothing else to do.

/** Milliseconds after which work no longer waits: where nothing is painted, as in a hidden tab. */
const patience = 300;

/** Runs `work` once what has changed is on the screen. */
export function afterPaint(work: () => void): void {
  let waits = true;
  const run = () => {
    if (waits) work();
    waits = false;
  };
  requestAnimationFrame(() => setTimeout(run));
  setTimeout(run, patience);
}

/** Runs `work` when there is nothing else to do. */
export function whenIdle(work: () => void): void {
  const idle = globalThis.requestIdleCallback ?? setTimeout;
  idle(() => work());
}
