// The model and GPU that a recipe was written for: offered beside it, or brought with it.

import type { Config, Presets } from './border.js';
import type { Remark } from './calculator_state.js';

const lists = { model: 'models', gpu: 'gpus' } as const;
const sections = ['model', 'gpu'] as const;

const presetOf = (presets: Presets, section: 'model' | 'gpu', id: unknown) =>
  presets[lists[section]].find(preset => preset.id === id);

/** Where they are others than those of the configuration. */
function origin(presets: Presets, { recipe, ...config }: Config): { wanted: Config; names: string[] } {
  const chosen = presets.recipes.find(preset => preset.id === recipe?.preset);
  const wanted: Config = {};
  const names: string[] = [];
  for (const section of sections) {
    const preset = presetOf(presets, section, chosen?.[section]);
    if (!preset || preset.id === config[section]?.preset) continue;
    wanted[section] = { preset: preset.id };
    names.push(preset.name);
  }
  return { wanted, names };
}

/** The recipe applies to what is there; its own model and GPU are one click away. */
export function offerOrigin(presets: Presets, config: Config): Remark | undefined {
  const { wanted, names } = origin(presets, config);
  if (names.length === 0) return undefined;
  return {
    text: `This recipe was written for ${names.join(' on ')}.`,
    action: `Use ${names.length > 1 ? 'both' : names[0]}`,
    config: wanted,
  };
}

/** The recipe comes with its own model and GPU; those before are one click away. */
export function bringOrigin(presets: Presets, config: Config): { config: Config; remark: Remark } | undefined {
  const { wanted, names } = origin(presets, config);
  if (names.length === 0) return undefined;
  const replaced = sections.filter(section => wanted[section]);
  const before = replaced.map(section => presetOf(presets, section, config[section]?.preset)?.name ?? 'the one before');
  return {
    config: { ...config, ...wanted },
    remark: {
      text: `Shown for what this recipe was written for: ${names.join(' on ')}.`,
      action: `Keep ${before.join(' on ')}`,
      config: Object.fromEntries(replaced.map(section => [section, config[section] ?? {}])),
    },
  };
}
