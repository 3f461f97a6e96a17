// Trusted Types: the policy of a worker passes the worker's own address.
import { scriptAddress } from '@source/script_address.js';
import { afterEach, expect, test } from 'vitest';

type Rules = { createScriptURL(text: string): string };
const page = globalThis as { trustedTypes?: { createPolicy(name: string, rules: Rules): Rules } };

afterEach(() => {
  delete page.trustedTypes;
});

test('an address stands as it is where there are no Trusted Types', () => {
  expect(scriptAddress('none', 'https://site/worker.js')).toBe('https://site/worker.js');
});

test('a policy passes its own address and no other, and is made once', () => {
  const made: [string, Rules][] = [];
  page.trustedTypes = {
    createPolicy(name, rules) {
      made.push([name, rules]);
      return rules;
    },
  };
  expect(scriptAddress('own', 'https://site/worker.js')).toBe('https://site/worker.js');
  expect(scriptAddress('own', 'https://site/worker.js')).toBe('https://site/worker.js');
  expect(made.map(([name]) => name)).toEqual(['own']);
  expect(() => made[0]![1].createScriptURL('https://elsewhere/worker.js')).toThrow(TypeError);
});
