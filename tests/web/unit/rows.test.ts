// Rows of one shape say whose they are, where the weights leave no doubt.
import type { Row } from '@source/border.js';
import { owners } from '@source/views/rows.js';
import { expect, test } from 'vitest';

const row = (component: string, name: string, shape: string, copies: number) =>
  ({ component, name: `${component}.${name}`, shape, copies }) as Row;

test('states, gradients and scratch are of the weights of their shape', () => {
  const gate = row('weights', 'gate', '11008x4096', 32);
  const up = row('weights', 'up', '11008x4096', 32);
  const norms = [row('weights', 'norm', '4096', 64), row('weights', 'norm', '4096', 1)];
  const all = [gate, up, ...norms];
  expect(owners(row('optimizer_states', 'first moment', '11008x4096', 64), all)).toBe('gate, up');
  expect(owners(row('gradients', 'mlp', '11008x4096', 64), all)).toBe('gate, up');
  expect(owners(row('optimizer_states', 'first moment', '4096', 65), all)).toBe('norm');
  // Other counts: of some of them, nobody knows which.
  expect(owners(row('gradients', 'mlp', '11008x4096', 32), all)).toBe('');
  expect(owners(row('optimizer_states', 'first moment', '1x9', 0), all)).toBe('');
  expect(owners(gate, all)).toBe('');
  expect(owners(row('activations', 'mlp.gate', '11008x4096', 64), all)).toBe('');
});
