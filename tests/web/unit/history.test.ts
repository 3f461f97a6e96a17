// Undo and redo over configurations.
import { differences, History } from '@source/history.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

function timed() {
  let now = 0;
  const history = new History(() => now);
  return { history, wait: (milliseconds: number) => (now += milliseconds) };
}
const sized = (micro_batch_size: number, more = {}) => ({ recipe: { micro_batch_size, ...more } });

describe('history', () => {
  test('goes back and forth, and a new step drops what was undone', () => {
    const { history, wait } = timed();
    for (const size of [1, 2, 3]) {
      history.note(sized(size));
      wait(2000);
    }
    expect(history.canRedo).toBe(false);
    expect(history.move(-1)).toEqual(sized(2));
    expect(history.move(-1)).toEqual(sized(1));
    expect(history.move(-1)).toBeUndefined();
    expect(history.move(1)).toEqual(sized(2));
    history.note(sized(9));
    expect(history.canRedo).toBe(false);
    expect(history.move(-1)).toEqual(sized(2));
  });

  test('typing into one field is one step', () => {
    const { history, wait } = timed();
    history.note(sized(1));
    for (const size of [8, 81, 819, 8192]) {
      wait(100);
      history.note(sized(size));
    }
    expect(history.move(-1)).toEqual(sized(1));
    expect(history.move(1)).toEqual(sized(8192));
  });

  test('another field, or a pause, begins a new step', () => {
    const { history, wait } = timed();
    history.note(sized(1));
    history.note(sized(2));
    history.note(sized(2, { sequence_length: 8 }));
    wait(1500);
    history.note(sized(2, { sequence_length: 9 }));
    expect(history.move(-1)).toEqual(sized(2, { sequence_length: 8 }));
    expect(history.move(-1)).toEqual(sized(2));
    expect(history.move(-1)).toEqual(sized(1));
  });

  test('what stands there already is no step', () => {
    const { history } = timed();
    history.note(sized(1));
    history.note(sized(1));
    expect(history.canUndo).toBe(false);
  });

  test('any walk of undo and redo meets only what was noted', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1 }),
        fc.array(fc.boolean()),
        (sizes, walk) => {
          const { history, wait } = timed();
          for (const size of sizes) {
            history.note(sized(size));
            wait(5000);
          }
          for (const back of walk) {
            const met = history.move(back ? -1 : 1);
            if (met) expect(sizes).toContain(met.recipe?.micro_batch_size);
          }
        },
      ),
    );
  });
});

test('differences are named by path', () => {
  expect(differences({ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 }, d: 4 })).toEqual(['/a/c', '/d']);
  expect(differences({ a: {} }, { a: {} })).toEqual([]);
});
