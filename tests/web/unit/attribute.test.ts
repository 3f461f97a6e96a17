// The attribute "config": a link goes elsewhere, JSON becomes a configuration on top of the default one.

import { configOf } from '@source/attribute.js';
import { defaultConfig } from '@source/state.js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

describe('the attribute config', () => {
  test('that is no JSON leaves the default to what a link says on top', () => {
    expect(configOf('')).toBe(defaultConfig);
    expect(configOf('v=1&model=gpt2&end')).toBe(defaultConfig);
    expect(configOf('v=1&label={&end{')).toBe(defaultConfig);
  });

  test('takes presets by name or as objects, and what it does not say from the default', () => {
    expect(configOf('{"model":"gpt2","gpu":{"preset":"rtx-4090"},"recipe":"lora-one-gpu"}')).toEqual({
      model: { preset: 'gpt2' },
      gpu: { preset: 'rtx-4090' },
      recipe: { preset: 'lora-one-gpu' },
    });
    expect(configOf('{"recipe":{"sequence_length":1024}}')).toEqual({
      ...defaultConfig,
      recipe: { sequence_length: 1024 },
    });
    expect(configOf('{}')).toEqual(defaultConfig);
  });

  test('hands what it does not know to the engine, which names it', () => {
    expect(configOf('{"modle":"gpt2","model":7}')).toEqual({ ...defaultConfig, modle: 'gpt2', model: 7 });
  });

  test('that is broken JSON is told apart', () => {
    for (const text of ['{', '{"model"', '{]', '{"a":1}x']) expect(configOf(text)).toBeUndefined();
  });

  test('changes no object of the page, whatever it says', () => {
    const before = JSON.stringify(defaultConfig);
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('__proto__', 'constructor', 'model'), (json, key) => {
        const read = configOf(`{"${key}":${json}}`) as object;
        expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
        expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted');
      }),
    );
    configOf('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(JSON.stringify(defaultConfig)).toBe(before);
  });
});
