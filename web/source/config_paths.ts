// Reading and changing a configuration by path: "/recipe/lora/rank".

import type { Config, Scalar, Section, SectionName } from './border.js';

export function parts(path: string): [SectionName, ...string[]] {
  return path.split('/').slice(1) as [SectionName, ...string[]];
}

export function lookUp(section: Section | undefined, names: string[]): Scalar | undefined {
  let at: unknown = section;
  for (const name of names) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return typeof at === 'object' ? undefined : (at as Scalar);
}

export function changed(config: Config, path: string, value: Scalar | undefined): Config {
  const names = path.split('/').slice(1);
  const copy = structuredClone(config);
  let at = copy as Record<string, unknown>;
  for (const name of names.slice(0, -1)) {
    at[name] ??= {};
    at = at[name] as Record<string, unknown>;
  }
  const last = names.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

export function leaves(config: Config): Set<string> {
  const found = new Set<string>();
  const walk = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) found.add(path);
    else for (const [name, inner] of Object.entries(value)) walk(inner, `${path}/${name}`);
  };
  for (const section of ['model', 'gpu', 'recipe'] as const) {
    const { preset: _, ...fields } = config[section] ?? {};
    walk(fields, `/${section}`);
  }
  return found;
}
