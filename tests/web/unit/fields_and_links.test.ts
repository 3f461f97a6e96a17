// Which fields stand where, how the arrow keys step, and how the page's own keys share the fragment.

import type { Field } from '@source/border.js';
import { fieldLabel, groupFields, step } from '@source/fields.js';
import { unitNames } from '@source/format.js';
import { joinLink, splitLink } from '@source/url.js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const field = (path: string, type: Field['type'] = 'integer', more: Partial<Field> = {}): Field => ({
  path,
  name: path.split('/').at(-1)!,
  type,
  minimum: 1,
  maximum: 1024,
  ...more,
});
const plain = { large: false, small: false };

describe('fields', () => {
  test('every field appears exactly once, whatever its name', () => {
    const names = fc.uniqueArray(
      fc.constantFrom('tensor_parallel', 'precision', 'brand_new', 'lora/rank', 'loss', 'x'),
    );
    fc.assert(
      fc.property(names, fc.constantFrom('model', 'gpu', 'recipe'), (list, section) => {
        const fields = list.map(name => field(`/${section}/${name}`));
        const { common, more } = groupFields(fields);
        const shown = [...common, ...more].flatMap(group => group.fields.map(one => one.path));
        expect(shown.sort()).toEqual(fields.map(one => one.path).sort());
      }),
    );
  });

  test('what an objective alone has stands beside it, and under More with any other', () => {
    const list = ['objective', 'completion_length', 'reference_model', 'training_loop'].map(one =>
      field(`/recipe/${one}`),
    );
    const names = (objective?: string) => {
      const { common, more } = groupFields(list, objective);
      return [common, more].map(groups => groups.flatMap(({ fields }) => fields.map(({ name }) => name)));
    };
    expect(names()).toEqual([
      ['objective', 'training_loop'],
      ['completion_length', 'reference_model'],
    ]);
    expect(names('dpo')).toEqual([['objective', 'reference_model', 'training_loop'], ['completion_length']]);
    expect(names('grpo')).toEqual([['objective', 'completion_length', 'reference_model', 'training_loop'], []]);
    expect(names('orpo')).toEqual(names());
  });

  test('have labels that read as words', () => {
    expect(fieldLabel(field('/recipe/micro_batch_size'))).toBe('Micro-batch size');
    expect(fieldLabel(field('/model/num_hidden_layers'))).toBe('Layers');
    expect(fieldLabel(field('/model/experts/moe_intermediate_size'))).toBe('MoE intermediate size');
    expect(fieldLabel(field('/gpu/memory_technology'))).toBe('Memory technology');
    expect(fieldLabel(field('/recipe/lora/rank'))).toBe('LoRA rank');
  });
});

describe('an arrow key', () => {
  test('doubles and halves what is nearly always a power of two', () => {
    const tensor = field('/recipe/tensor_parallel');
    expect(step(tensor, 4, 1, plain)).toBe(8);
    expect(step(tensor, 4, -1, plain)).toBe(2);
    expect(step(tensor, 1, -1, plain)).toBe(1);
    expect(step(tensor, 512, 1, { large: true, small: false })).toBe(1024);
    expect(step(tensor, 4, 1, { large: false, small: true })).toBe(5);
  });

  test('steps other numbers by one, by ten with Shift', () => {
    const batch = field('/recipe/micro_batch_size');
    expect(step(batch, 4, 1, plain)).toBe(5);
    expect(step(batch, 4, 1, { large: true, small: false })).toBe(14);
    expect(step(batch, 1, -1, plain)).toBe(1);
  });

  test('does not gather rounding errors', () => {
    const dropout = field('/model/attention_dropout', 'number', { minimum: 0, maximum: 1 });
    expect(step(dropout, 0.1, 1, plain)).toBe(0.11);
    expect(step(dropout, 0.29, 1, plain)).toBe(0.3);
  });
});

describe('the fragment', () => {
  test('keeps settings of the page apart from the configuration', () => {
    expect(splitLink('#v=1&model=a&view.units=GB&end')).toEqual({
      link: 'v=1&model=a&end',
      view: { units: 'GB' },
      ignored: [],
    });
    expect(splitLink('v=1&view.timeline=component&view.units=bytes&end')).toEqual({
      link: 'v=1&end',
      view: { units: 'bytes', timeline: 'component' },
      ignored: [],
    });
    expect(splitLink('')).toEqual({ link: '', view: {}, ignored: [] });
  });

  test('joins what it splits', () => {
    const part = fc.stringMatching(/^[a-z]{1,8}=[a-z0-9.]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 12 }),
        fc.constantFrom(...unitNames),
        fc.constantFrom('phase' as const, 'component' as const),
        (parts, units, timeline) => {
          const link = ['v=1', ...parts, 'end'].join('&');
          const { link: same, view } = splitLink(`#${joinLink(link, { units, timeline })}`);
          expect(same).toBe(link);
          expect({ units: 'GiB', timeline: 'phase', ...view }).toEqual({ units, timeline });
        },
      ),
    );
  });
});

describe('the page\u2019s own part of a fragment', () => {
  test('is taken out wherever it stands, and empty parts go with it', () => {
    expect(splitLink('#v=1&&view.units=GiB&model=a&end')).toMatchObject({
      link: 'v=1&model=a&end',
      view: { units: 'GiB' },
    });
    expect(splitLink('?view.units=GB')).toMatchObject({ link: '', view: { units: 'GB' } });
    expect(splitLink('label=a#b&view.other=1')).toMatchObject({ link: 'label=a#b', view: {} });
  });

  test.each([
    ['an unknown setting', 'view.other=1&view.units=GB', ['view.other=1'], { units: 'GB' }],
    ['an unknown value', 'view.timeline=rainbow', ['view.timeline=rainbow'], {}],
    ['the name of a method', 'view.units=toString', ['view.units=toString'], {}],
    ['one that was cut off', 'view.un', ['view.un'], {}],
    ['the second of two', 'view.units=GB&view.units=bytes', ['view.units=bytes'], { units: 'GB' }],
  ])('%s is named, and the rest applied', (_, text, ignored, view) => {
    expect(splitLink(`v=1&${text}&end`)).toEqual({ link: 'v=1&end', view, ignored });
  });

  test('stands before the last word, and only there', () => {
    expect(joinLink('end', { units: 'GB' })).toBe('view.units=GB&end');
    expect(joinLink('v=1&endless=2&end', { units: 'GB' })).toBe('v=1&endless=2&view.units=GB&end');
    expect(joinLink('v=1&end', { units: 'GiB' })).toBe('v=1&end');
  });

  test('more than 8,192 characters are not read', () => {
    expect(splitLink(`#${'a'.repeat(9000)}`).link).toHaveLength(8192);
  });
});
