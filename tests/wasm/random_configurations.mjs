// Random configurations for tests, the same ones at every run. What may be set, and to what, is the engine's own
// table of fields, so a new field takes part by itself.

/** A small generator of numbers in [0, 1): mulberry32. */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

const pick = (random, list) => list[Math.floor(random() * list.length)];

/** A value that the field may hold. Whole numbers are mostly small powers of two, which is what parallel sizes are. */
function randomValue(random, field) {
  if (field.options?.length) return pick(random, field.options);
  if (typeof field.default === 'boolean') return random() < 0.5;
  if (typeof field.default === 'number') {
    const low = field.minimum ?? 0;
    const high = field.maximum ?? low + 1;
    if (field.type === 'number') return Math.round((low + random() * (Math.min(high, low + 1) - low)) * 100) / 100;
    const power = 2 ** Math.floor(random() * 8);
    return Math.max(low, Math.min(high, random() < 0.9 ? power : low));
  }
  return field.default;
}

/**
 * Configurations without end: a model, a GPU, and a recipe with up to `changes` fields of its own.
 * Most are valid, some are not, which the engine must say in the same words everywhere.
 */
export function* randomConfigurations(presets, seed, changes = 6) {
  const random = generator(seed);
  const fields = presets.fields.filter(({ path }) => path.startsWith('/recipe/'));
  for (;;) {
    const recipe = presets.recipes.length && random() < 0.5 ? { preset: pick(random, presets.recipes).id } : {};
    const count = Math.floor(random() * (changes + 1));
    for (let i = 0; i < count; i++) {
      const field = pick(random, fields);
      const keys = field.path.split('/').slice(2);
      let place = recipe;
      for (const key of keys.slice(0, -1)) place = place[key] ??= {};
      place[keys.at(-1)] = randomValue(random, field);
    }
    yield { model: pick(random, presets.models).id, gpu: pick(random, presets.gpus).id, recipe };
  }
}
