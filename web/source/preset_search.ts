// Presets as a reader looks for them: in a sensible order, under family names, found by parts of their names.

import type { Preset, SectionName } from './border.js';
import { count, gigabytes, type Units } from './format.js';

export const asNumber = (value: unknown) => (typeof value === 'number' ? value : 0);
export const asText = (value: unknown) => (typeof value === 'string' ? value : '');

/** What stands beside a preset in the list. */
export function detail(section: SectionName, preset: Preset, units: Units): string {
  if (section === 'model') return preset.parameters ? count(asNumber(preset.parameters)) : '';
  if (section === 'gpu') return preset.memory_bytes ? gigabytes(asNumber(preset.memory_bytes), units) : '';
  return '';
}

export function heading(section: SectionName, preset: Preset): string {
  if (section === 'model') return asText(preset.family);
  if (section === 'gpu') return asText(preset.vendor);
  return '';
}

const first = ['llama2', 'llama3', 'qwen3', 'mistral', 'gpt3', 'gpt2', 'NVIDIA', 'AMD'];
const size = (preset: Preset) => asNumber(preset.parameters) || -asNumber(preset.memory_bytes);
const sorted = new WeakMap<readonly Preset[], Preset[]>();

/** Families that most people look for stand first; within a family by size. */
function ordered(section: SectionName, presets: readonly Preset[]): Preset[] {
  let found = sorted.get(presets);
  if (!found) {
    const rank = (preset: Preset) => (first.indexOf(heading(section, preset)) + first.length + 1) % (first.length + 1);
    found = [...presets];
    if (section !== 'recipe') {
      found.sort(
        (a, b) =>
          rank(a) - rank(b) ||
          heading(section, a).localeCompare(heading(section, b)) ||
          size(a) - size(b) ||
          a.name.localeCompare(b.name),
      );
    }
    sorted.set(presets, found);
  }
  return found;
}

/** What most names of a family begin with: "Llama 2" of "Llama 2 7B" and "Llama 2 13B", "Llama 3" of 3.1 and 3.2. */
export function familyTitle(section: SectionName, presets: readonly Preset[], family: string): string {
  if (section !== 'model') return family;
  const names = presets.filter(preset => heading(section, preset) === family).map(preset => preset.name);
  for (const pattern of [/^\S+ \S+(?= )/, /^\S+ \d+(?=[. ])/, /^\S+(?= )/]) {
    const starts = names.map(name => pattern.exec(name)?.[0]);
    const common = starts.find(start => start && starts.filter(other => other === start).length > names.length / 2);
    if (common) return common;
  }
  return family;
}

/** Every word of the query must occur somewhere in the preset's names. */
export function search(section: SectionName, presets: readonly Preset[], query: string): Preset[] {
  const wanted = query
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  const all = ordered(section, presets);
  if (wanted.length === 0) return all;
  return all.filter(preset => {
    const text = [preset.id, preset.name, heading(section, preset), preset.description, detail(section, preset, 'GB')]
      .join(' ')
      .toLowerCase();
    const squeezed = text.replace(/[\s-]+/g, '');
    return wanted.every(word => text.includes(word) || squeezed.includes(word.replace(/-/g, '')));
  });
}
