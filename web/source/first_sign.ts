// The reader's first sign: the pointer moves, something is touched, scrolled or focused, a key goes down.

const signs = ['pointermove', 'pointerdown', 'keydown', 'focusin', 'wheel', 'scroll'];

/** Runs `act` once, at the first sign or after `patience` milliseconds. The function returned calls it off. */
export function atFirstSign(act: () => void, patience: number): () => void {
  const stop = () => {
    clearTimeout(timer);
    for (const sign of signs) removeEventListener(sign, start, { capture: true });
  };
  const start = () => {
    stop();
    act();
  };
  const timer = setTimeout(start, patience);
  for (const sign of signs) addEventListener(sign, start, { capture: true, passive: true });
  return stop;
}
