// Work that waits for the screen.

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
