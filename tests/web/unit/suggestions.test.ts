// "Did you mean" in the notice about a link: what can be chosen, and what choosing it changes.

import type { Config, Engine, Issue, LinkAnswer } from '@source/border.js';
import { corrected, pieces } from '@source/suggestions.js';
import { describe, expect, test } from 'vitest';

const issue = (code: string, path: string, hint: string): Issue => ({ code, path, message: '', hint });
const suggested = (one: Issue) =>
  pieces(one)
    .filter(piece => piece.suggested)
    .map(piece => piece.text);
const config: Config = { model: { preset: 'm' }, gpu: { preset: 'g' }, recipe: { sequence_length: 512 } };

/** Reads the one link it is made for. */
const reads = (link: string, answer: LinkAnswer) =>
  ({ readLink: (given: string) => (given === link ? answer : expect.fail(given)) }) as unknown as Engine;

describe('a hint', () => {
  test('has the words of its question to choose from, and no others', () => {
    expect(suggested(issue('unknown_key', '/link/mbss', 'Did you mean "mbs" or "loss"?'))).toEqual(['mbs', 'loss']);
    const word = issue('unknown_word', '/recipe/loss', 'Did you mean "full"? It may be one of: full, "fused".');
    expect(suggested(word)).toEqual(['full']);
    expect(pieces(word).at(-1)?.text).toBe(' It may be one of: full, "fused".');
  });

  test('without a question, or of another kind, is text alone', () => {
    for (const one of [
      issue('unknown_key', '/link/x', 'Look at the "page".'),
      issue('out_of_range', '/recipe/tensor_parallel', 'Did you mean "8"?'),
      issue('unknown_key', '/recipe/x', 'Did you mean "y"?'),
    ])
      expect(pieces(one)).toEqual([{ text: one.hint, suggested: false }]);
  });
});

describe('a suggestion', () => {
  const none = reads('', { ok: true, config: {}, link: '' } as LinkAnswer);

  test('of a preset takes its section', () => {
    const mended = corrected(none, config, 'gpu=hh', issue('unknown_preset', '/gpu', ''), 'h');
    expect(mended).toEqual({ config: { ...config, gpu: { preset: 'h' } }, issues: [] });
  });

  test('of a word sets the field', () => {
    const mended = corrected(none, config, 'opt=x', issue('unknown_word', '/recipe/optimizer', ''), 'adamw');
    expect(mended.config.recipe).toEqual({ sequence_length: 512, optimizer: 'adamw' });
  });

  test('of a key takes the value that the link gives, and keeps all else', () => {
    const engine = reads('v=1&mbs=2&end', {
      ok: false,
      issues: [issue('missing', '/model', 'Name a model.'), issue('out_of_range', '/recipe/micro_batch_size', '')],
      config: { model: {}, gpu: {}, recipe: { micro_batch_size: 2 } },
    } as LinkAnswer);
    const mended = corrected(engine, config, 'v=1&mbss=2&mbsss=3&end', issue('unknown_key', '/link/mbss', ''), 'mbs');
    expect(mended.config).toEqual({ ...config, recipe: { sequence_length: 512, micro_batch_size: 2 } });
    expect(mended.issues.map(({ code }) => code)).toEqual(['out_of_range']);
  });
});
