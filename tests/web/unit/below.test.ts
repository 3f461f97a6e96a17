// What stands below the answer follows it one frame later.

import { Below } from '@source/below.js';
import type { GoodAnswer } from '@source/border.js';
import type { Units } from '@source/format.js';
import { noChange, nothing } from 'lit';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

const answer = () => ({ ok: true }) as GoodAnswer;

function host(page: boolean) {
  const state: { good?: GoodAnswer; units: Units } = { units: 'GiB' };
  const updates = vi.fn();
  const made = {
    page,
    view: 'full',
    calculator: { state },
    addController: () => {},
    removeController: () => {},
    requestUpdate: updates,
    updateComplete: Promise.resolve(true),
  };
  return { made, state, updates, below: new Below(made) };
}

/** One update of the host, and what stands below in it. */
function drawn({ below }: ReturnType<typeof host>): unknown {
  below.hostUpdate();
  const content = below.draw(() => 'content');
  below.hostUpdated();
  return content;
}

describe('what stands below the answer', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('requestAnimationFrame', (work: () => void) => setTimeout(work, 16));
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  test('comes a frame after the first answer, and keeps what it shows when the answer changes', () => {
    const page = host(true);
    page.state.good = answer();
    expect(drawn(page)).toBe(nothing);
    expect(page.below.begun).toBe(false);
    vi.advanceTimersByTime(20);
    expect(page.updates).toHaveBeenCalledTimes(1);
    expect(drawn(page)).toBe('content');
    page.state.good = answer();
    expect(page.below.late).toBe(true);
    expect(drawn(page)).toBe(noChange);
    expect(drawn(page)).toBe(noChange);
    vi.advanceTimersByTime(1000);
    expect(page.updates).toHaveBeenCalledTimes(2);
    expect(drawn(page)).toBe('content');
    expect(page.below.late).toBe(false);
  });

  test('follows a change of units too', () => {
    const page = host(true);
    page.state.good = answer();
    drawn(page);
    vi.advanceTimersByTime(20);
    drawn(page);
    page.state.units = 'GB';
    expect(drawn(page)).toBe(noChange);
  });

  test('comes with the first answer in an embed, and later with the others', () => {
    const embed = host(false);
    expect(drawn(embed)).toBe('content');
    embed.state.good = answer();
    expect(drawn(embed)).toBe('content');
    embed.state.good = answer();
    expect(drawn(embed)).toBe(noChange);
  });

  test('is there at once where nothing has been answered, and comes where nothing is painted', () => {
    const page = host(true);
    expect(drawn(page)).toBe('content');
    vi.stubGlobal('requestAnimationFrame', () => 0);
    page.state.good = answer();
    drawn(page);
    vi.advanceTimersByTime(1000);
    expect(page.updates).toHaveBeenCalledTimes(1);
    expect(drawn(page)).toBe('content');
  });
});
