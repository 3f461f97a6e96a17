// Reading and changing a configuration by path.

import type { Config, Section } from '@source/border.js';
import { changed, leaves, lookUp } from '@source/config_paths.js';
import { describe, expect, test } from 'vitest';

const recipe = { sequence_length: 512, lora: { rank: 16 } } as Section;

describe('a path', () => {
  test('leads to a value, never to an object, nor through what is none', () => {
    expect(lookUp(recipe, ['sequence_length'])).toBe(512);
    expect(lookUp(recipe, ['lora', 'rank'])).toBe(16);
    expect(lookUp(recipe, ['lora'])).toBeUndefined();
    expect(lookUp(recipe, ['sequence_length', 'toString'])).toBeUndefined();
    expect(lookUp({ lora: null } as unknown as Section, ['lora', 'rank'])).toBeUndefined();
    expect(lookUp(recipe, ['constructor', 'name'])).toBeUndefined();
    expect(lookUp(undefined, ['lora'])).toBeUndefined();
  });

  test('without a value leaves no key behind', () => {
    const config = { recipe } as Config;
    expect(Object.keys(changed(config, '/recipe/sequence_length', undefined).recipe!)).toEqual(['lora']);
    expect(changed(config, '/recipe/lora/rank', 8).recipe).toEqual({ sequence_length: 512, lora: { rank: 8 } });
    expect(recipe.sequence_length).toBe(512);
  });

  test('stands for every value that is set, presets aside', () => {
    const config = { model: { preset: 'gpt2' }, recipe: { ...recipe, loss: null } } as unknown as Config;
    expect([...leaves(config)]).toEqual(['/recipe/sequence_length', '/recipe/lora/rank', '/recipe/loss']);
  });
});
