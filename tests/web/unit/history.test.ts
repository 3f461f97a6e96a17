// Undo and redo over configurations.
import { differences, direction, History } from '@source/history.js';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';

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
    wait(5000);
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

  test('a second ends the step, and so does a change of two fields', () => {
    const { history, wait } = timed();
    wait(5000);
    history.note(sized(1));
    history.note(sized(2));
    wait(1000);
    history.note(sized(3));
    history.note(sized(4, { sequence_length: 8 }));
    history.note(sized(5, { sequence_length: 9 }));
    expect(history.move(-1)).toEqual(sized(4, { sequence_length: 8 }));
    expect(history.move(-1)).toEqual(sized(3));
    expect(history.move(-1)).toEqual(sized(2));
    expect(history.canUndo).toBe(true);
    expect(history.move(-1)).toEqual(sized(1));
    expect(history.canUndo).toBe(false);
    expect(history.canRedo).toBe(true);
  });

  test('the last 500 steps are kept', () => {
    const { history, wait } = timed();
    for (let size = 1; size <= 502; size++) {
      history.note(sized(size));
      wait(2000);
    }
    let oldest: unknown;
    let steps = 0;
    for (let met = history.move(-1); met; met = history.move(-1)) {
      oldest = met;
      steps++;
    }
    expect(steps).toBe(499);
    expect(oldest).toEqual(sized(3));
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

test('a value and a group of values differ as a whole', () => {
  expect(differences({ a: 1 }, { a: { b: 1 } })).toEqual(['/a/b']);
  expect(differences({ a: null }, { a: 1 })).toEqual(['/a']);
});

describe('keys', () => {
  class Input {
    constructor(readonly type: string) {}
  }
  class Area {}
  const press = (key: string, held: object = { ctrlKey: true }, target: object = {}) => {
    vi.stubGlobal('HTMLInputElement', Input);
    vi.stubGlobal('HTMLTextAreaElement', Area);
    return direction({ key, composedPath: () => [target], ...held } as unknown as KeyboardEvent);
  };
  afterEach(() => vi.unstubAllGlobals());

  test('undo and redo, on every system', () => {
    expect(press('z')).toBe(-1);
    expect(press('z', { metaKey: true })).toBe(-1);
    expect(press('Z', { ctrlKey: true, shiftKey: true })).toBe(1);
    expect(press('y')).toBe(1);
  });

  test('nothing else is one', () => {
    expect(press('z', {})).toBeUndefined();
    expect(press('z', { ctrlKey: true, altKey: true })).toBeUndefined();
    expect(press('Y', { ctrlKey: true, shiftKey: true })).toBeUndefined();
    expect(press('x')).toBeUndefined();
  });

  test('are the browser\u2019s own where a text is edited', () => {
    for (const type of ['text', 'search', 'number', 'url'])
      expect(press('z', { ctrlKey: true }, new Input(type))).toBeUndefined();
    expect(press('z', { ctrlKey: true }, new Area())).toBeUndefined();
    for (const type of ['range', 'checkbox']) expect(press('z', { ctrlKey: true }, new Input(type))).toBe(-1);
  });
});
