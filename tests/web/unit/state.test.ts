// The state and its actions, against a small engine that knows one rule: heads must divide by tensor_parallel.

import type { Answer, Config, Engine, Field, LinkAnswer, Result } from '@source/border.js';
import { choose } from '@source/choosing.js';
import { Calculator, type Change } from '@source/state.js';
import { describe, expect, test } from 'vitest';

const fields: Field[] = [
  { path: '/recipe/tensor_parallel', name: 'tensor_parallel', type: 'integer', minimum: 1, maximum: 64, default: 1 },
  {
    path: '/recipe/sequence_length',
    name: 'sequence_length',
    type: 'integer',
    minimum: 1,
    maximum: 1e6,
    default: 4096,
  },
  { path: '/recipe/lora/rank', name: 'rank', type: 'integer', minimum: 0, maximum: 1024, default: 0 },
];

/** Links are "key=value" of the recipe; the presets are named a and b, and b takes 2048 tokens at most. */
function smallEngine(): Engine & { calls: Config[] } {
  const calls: Config[] = [];
  return {
    calls,
    version: 'test',
    presets: {
      models: [
        { id: 'a', name: 'A' },
        { id: 'b', name: 'B' },
      ],
      gpus: [{ id: 'g', name: 'G' }],
      recipes: [{ id: 'r', name: 'R', model: 'b', gpu: 'g' }],
      fields,
    },
    estimate(config): Answer {
      calls.push(config);
      const tensor = Number(config.recipe?.tensor_parallel ?? 1);
      const length = Number(config.recipe?.sequence_length ?? 4096);
      const issues = [];
      if (32 % tensor !== 0) {
        issues.push({
          code: 'not_divisible',
          path: '/recipe/tensor_parallel',
          message: `32 heads, ${tensor}`,
          hint: '',
        });
      }
      if (config.model?.preset === 'b' && length > 2048) {
        issues.push({ code: 'out_of_range', path: '/recipe/sequence_length', message: 'too long', hint: '' });
      }
      if (issues.length > 0) return { ok: false, issues };
      return {
        ok: true,
        result: {} as Result,
        config: {
          model: { preset: config.model?.preset ?? 'a' },
          gpu: {},
          recipe: { tensor_parallel: tensor, sequence_length: length, lora: { rank: 0 }, ...config.recipe },
        },
        link: JSON.stringify(config),
      };
    },
    writeLink: config => ({ ok: true, link: JSON.stringify(config) }),
    readLink(link): LinkAnswer {
      if (link === 'broken') {
        const issue = { code: 'unknown_key', path: '/link/foo', message: 'no part "foo"', hint: '' };
        return { ok: false, issues: [issue], config: { model: { preset: 'b' }, recipe: { sequence_length: 512 } } };
      }
      return { ok: true, config: JSON.parse(link), link };
    },
  };
}

function started() {
  const changes: Change[] = [];
  const engine = smallEngine();
  const calculator = new Calculator(change => changes.push(change));
  calculator.start(engine);
  calculator.setConfig({ model: { preset: 'a' }, gpu: { preset: 'g' } });
  changes.length = 0;
  return { calculator, engine, changes };
}

describe('a value', () => {
  test('reaches the engine at once, and stands in the configuration alone', () => {
    const { calculator, engine, changes } = started();
    calculator.set('/recipe/tensor_parallel', 8);
    expect(engine.calls.at(-1)).toEqual({
      model: { preset: 'a' },
      gpu: { preset: 'g' },
      recipe: { tensor_parallel: 8 },
    });
    expect(calculator.value('/recipe/tensor_parallel')).toBe(8);
    expect(calculator.value('/recipe/sequence_length')).toBe(4096);
    expect([...calculator.state.edited]).toEqual(['/recipe/tensor_parallel']);
    expect(changes).toEqual(['edit']);
  });

  test('of a nested object keeps its neighbours', () => {
    const { calculator } = started();
    calculator.set('/recipe/lora/rank', 8);
    calculator.set('/recipe/lora/dropout', 0.1);
    expect(calculator.state.config.recipe).toEqual({ lora: { rank: 8, dropout: 0.1 } });
    calculator.reset('/recipe/lora/rank');
    expect(calculator.state.config.recipe).toEqual({ lora: { dropout: 0.1 } });
  });

  test('that cannot be computed keeps the last good answer and shows the issue at its field', () => {
    const { calculator } = started();
    calculator.set('/recipe/tensor_parallel', 4);
    const { good } = calculator.state;
    calculator.set('/recipe/tensor_parallel', 3);
    expect(calculator.state.good).toBe(good);
    expect(calculator.issuesAt('/recipe/tensor_parallel')).toHaveLength(1);
    expect(calculator.value('/recipe/tensor_parallel')).toBe(3);
    expect(JSON.parse(calculator.state.link).recipe).toEqual({ tensor_parallel: 3 });
    calculator.reset('/recipe/tensor_parallel');
    expect(calculator.state.issues).toEqual([]);
  });

  test('that is no number yet is a draft, and changes nothing else', () => {
    const { calculator, engine, changes } = started();
    const calls = engine.calls.length;
    calculator.setDraft('/recipe/tensor_parallel', '8q', 'no');
    expect(engine.calls).toHaveLength(calls);
    expect(calculator.state.drafts.get('/recipe/tensor_parallel')).toEqual({ text: '8q', message: 'no' });
    calculator.set('/recipe/tensor_parallel', 8);
    expect(calculator.state.drafts.size).toBe(0);
    expect(changes).toEqual(['view', 'edit']);
  });
});

describe('a preset', () => {
  test('takes the place of its section and leaves the others', () => {
    const { calculator, changes } = started();
    calculator.set('/recipe/tensor_parallel', 2);
    calculator.set('/model/hidden_size', 64);
    choose(calculator, 'model', 'a');
    expect(calculator.state.config).toEqual({
      model: { preset: 'a' },
      gpu: { preset: 'g' },
      recipe: { tensor_parallel: 2 },
    });
    expect(changes).toEqual(['edit', 'edit', 'choice']);
  });

  test('of a model with fewer positions shortens the sequence and says so', () => {
    const { calculator } = started();
    choose(calculator, 'model', 'b');
    expect(calculator.state.issues).toEqual([]);
    expect(calculator.value('/recipe/sequence_length')).toBe(2048);
    expect(calculator.state.remark?.text).toContain('2,048');
  });

  test('does not shorten anything when something else is wrong too', () => {
    const { calculator } = started();
    calculator.set('/recipe/tensor_parallel', 3);
    choose(calculator, 'model', 'b');
    expect(calculator.state.issues).toHaveLength(2);
    expect(calculator.state.config.recipe).toEqual({ tensor_parallel: 3 });
  });

  test('of a recipe written for another model offers that model', () => {
    const { calculator } = started();
    choose(calculator, 'model', 'a');
    calculator.set('/recipe/sequence_length', 1024);
    choose(calculator, 'recipe', 'r');
    expect(calculator.state.config.model).toEqual({ preset: 'a' });
    expect(calculator.state.remark?.config).toEqual({ model: { preset: 'b' } });
    calculator.state.config = { ...calculator.state.config, recipe: { sequence_length: 1024 } };
    calculator.acceptRemark();
    expect(calculator.state.config.model).toEqual({ preset: 'b' });
    expect(calculator.state.remark).toBeUndefined();
  });
});

test('a recipe brings its model while nobody has said which, and the other one can be kept', () => {
  const { calculator } = started();
  choose(calculator, 'recipe', 'r');
  expect(calculator.state.config).toEqual({
    model: { preset: 'b' },
    gpu: { preset: 'g' },
    recipe: { preset: 'r', sequence_length: 2048 },
  });
  expect(calculator.state.remark?.text).toBe('Shown for what this recipe was written for: B.');
  expect(calculator.state.remark?.action).toBe('Keep A');
  calculator.acceptRemark();
  expect(calculator.state.config.model).toEqual({ preset: 'a' });
  choose(calculator, 'recipe', '');
  expect(calculator.state.config).toEqual({ model: { preset: 'a' }, gpu: { preset: 'g' } });
});

test('fields show the values of a recipe that cannot be computed, not those of the last answer', () => {
  const { calculator, engine } = started();
  calculator.set('/recipe/tensor_parallel', 4);
  engine.presets.recipes.push({ id: 'odd', name: 'Odd', recipe: { tensor_parallel: 3 } });
  engine.estimate = () => ({
    ok: false,
    issues: [{ code: 'not_yet_modelled', path: '/recipe', message: '', hint: '' }],
    config: { recipe: { preset: 'odd', tensor_parallel: 3, sequence_length: 1024 } },
  });
  choose(calculator, 'recipe', 'odd');
  expect(calculator.value('/recipe/tensor_parallel')).toBe(3);
  // The model's table ends there, whatever the recipe says.
  expect(calculator.value('/recipe/sequence_length')).toBe(1024);
});

describe('a link', () => {
  test('that is broken applies the rest and names the problem', () => {
    const { calculator } = started();
    calculator.open('broken');
    expect(calculator.state.notice).toHaveLength(1);
    expect(calculator.value('/recipe/sequence_length')).toBe(512);
    calculator.dismissNotices();
    expect(calculator.state.notice).toEqual([]);
  });
});

describe('an engine that stops', () => {
  test('leaves the last good answer, and is asked once more when it is back', async () => {
    const { calculator, engine, changes } = started();
    const { good } = calculator.state;
    const working = engine.estimate;
    engine.estimate = () => {
      engine.estimate = working;
      throw Object.assign(new Error('trap'), { ready: Promise.resolve() });
    };
    calculator.set('/recipe/tensor_parallel', 2);
    expect(calculator.state.good).toBe(good);
    expect(calculator.state.failure).toBe('trap');
    await Promise.resolve();
    await Promise.resolve();
    expect(calculator.state.failure).toBeUndefined();
    expect(calculator.state.good).not.toBe(good);
    expect(changes).toEqual(['edit', 'engine']);
  });
});

describe('an engine that is still to come', () => {
  function awaited() {
    const all = started();
    const { engine, calculator } = all;
    const working = engine.estimate;
    let settle!: { come: () => void; fail: (reason: Error) => void };
    const ready = new Promise<void>((come, fail) => {
      settle = { come, fail };
    });
    engine.finish = () => ready;
    engine.estimate = () => {
      throw Object.assign(new Error('still to come'), { ready, awaited: true });
    };
    calculator.set('/recipe/tensor_parallel', 2);
    const come = async () => {
      engine.estimate = working;
      delete engine.finish;
      settle.come();
      await ready;
    };
    return { ...all, come, fail: settle.fail };
  }

  test('lets an edit wait, and answers it when it has come', async () => {
    const { calculator, come } = awaited();
    const { good } = calculator.state;
    expect([calculator.busy, calculator.fetching, calculator.stale]).toEqual([true, true, false]);
    expect(calculator.state.failure).toBeUndefined();
    await come();
    expect([calculator.busy, calculator.fetching]).toEqual([false, false]);
    expect(calculator.state.good).not.toBe(good);
    expect(calculator.value('/recipe/tensor_parallel')).toBe(2);
  });

  test('that does not come is a failure, and what is shown belongs to other fields', async () => {
    const { calculator, fail } = awaited();
    fail(new Error('no network'));
    await Promise.resolve();
    await Promise.resolve();
    expect(calculator.state.failure).toContain('no network');
    expect([calculator.busy, calculator.stale]).toEqual([false, true]);
  });
});

describe('an answer', () => {
  test('to an edit waits for the next frame, and edits within one frame cost one estimate', () => {
    const work: (() => void)[] = [];
    const engine = smallEngine();
    const calculator = new Calculator(
      () => {},
      later => work.push(later),
    );
    calculator.start(engine);
    const calls = engine.calls.length;
    calculator.set('/recipe/tensor_parallel', 2);
    calculator.set('/recipe/tensor_parallel', 4);
    expect(calculator.value('/recipe/tensor_parallel')).toBe(4);
    expect(calculator.busy).toBe(true);
    expect(engine.calls).toHaveLength(calls);
    expect(work).toHaveLength(1);
    work[0]!();
    expect(calculator.busy).toBe(false);
    expect(engine.calls.slice(calls)).toEqual([{ ...engine.calls.at(-1) }]);
    expect(engine.calls.at(-1)?.recipe).toEqual({ tensor_parallel: 4 });
  });

  test('to what is typed is the first that is drawn: the field shows the text by itself', () => {
    const work: (() => void)[] = [];
    const changes: Change[] = [];
    const calculator = new Calculator(
      change => changes.push(change),
      later => work.push(later),
    );
    calculator.start(smallEngine());
    changes.length = 0;
    calculator.set('/recipe/sequence_length', 4096, '4k');
    expect(changes).toEqual([]);
    expect(calculator.value('/recipe/sequence_length')).toBe(4096);
    work[0]!();
    expect(changes).toEqual(['edit']);
    expect(calculator.state.drafts.get('/recipe/sequence_length')).toEqual({ text: '4k', message: '' });
    calculator.set('/recipe/sequence_length', 2048);
    expect(changes).toEqual(['edit']);
    expect(calculator.state.drafts.size).toBe(0);
  });

  test('to the choice of a preset waits for the paint that closes its list, and two choices come in their order', () => {
    const work: (() => void)[] = [];
    const changes: Change[] = [];
    const calculator = new Calculator(
      change => changes.push(change),
      later => work.push(later),
    );
    const engine = smallEngine();
    calculator.start(engine);
    const before = calculator.state.config;
    const calls = engine.calls.length;
    changes.length = 0;
    choose(calculator, 'model', 'b');
    choose(calculator, 'recipe', 'r');
    expect(changes).toEqual([]);
    expect(calculator.state.config).toBe(before);
    expect(calculator.busy).toBe(true);
    expect(engine.calls).toHaveLength(calls);
    for (const one of work) one();
    expect(calculator.busy).toBe(false);
    expect(calculator.state.config.model).toEqual({ preset: 'b' });
    expect(calculator.state.config.recipe?.preset).toBe('r');
  });

  test('is not asked for again where the configuration is the one that was answered', () => {
    const { calculator, engine, changes } = started();
    calculator.set('/recipe/tensor_parallel', 2);
    const { config } = calculator.state;
    const calls = engine.calls.length;
    calculator.setConfig(config, 'choice');
    expect(engine.calls).toHaveLength(calls);
    expect(changes.at(-1)).toBe('choice');
    calculator.set('/recipe/tensor_parallel', 3);
    calculator.setConfig(config, 'choice');
    expect(calculator.state.issues).toEqual([]);
    expect(calculator.value('/recipe/tensor_parallel')).toBe(2);
  });
});
