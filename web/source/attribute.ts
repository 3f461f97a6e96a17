// The attribute `config` as JSON. Links go to the engine as they are.

import type { Config } from './border.js';
import { defaultConfig } from './state.js';

/** The configuration that a JSON text describes, on top of the defaults; nothing if it is not JSON. */
export function configOf(text: string): Config | undefined {
  if (!text.startsWith('{')) return defaultConfig;
  try {
    // Unknown keys go along: the engine names them.
    const config = { ...(JSON.parse(text) as Record<string, unknown>) };
    for (const section of ['model', 'gpu', 'recipe']) {
      if (typeof config[section] === 'string') config[section] = { preset: config[section] };
    }
    return { ...defaultConfig, ...config };
  } catch {
    return undefined;
  }
}
