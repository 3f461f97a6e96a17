// Presets as a reader looks for them: in a sensible order, under family names, found by parts of their names.

import type { Preset, Section, SectionName } from './border.js';
import { asNumber, asText, count, gigabytes, type Units } from './format.js';

/** What stands beside a preset in the list. */
export function detail(section: SectionName, preset: Preset, units: Units): string {
  if (section === 'model') return preset.parameters ? count(asNumber(preset.parameters)) : '';
  if (section === 'gpu') return preset.memory_bytes ? gigabytes(asNumber(preset.memory_bytes), units) : '';
  return '';
}

/** Takes no recipe: what the framework does by itself. */
const noRecipe: Preset = {
  id: '',
  name: 'Defaults of transformers',
  description: 'What its users get who set nothing; every knob can be set below.',
};

const dimensions = ['data_parallel_size', 'tensor_parallel', 'pipeline_parallel', 'context_parallel'] as const;

/** GPUs that a recipe takes. */
function gpusOf(preset: Preset): number {
  const recipe = (preset.recipe ?? {}) as Section;
  return dimensions.reduce((product, name) => product * (asNumber(recipe[name]) || 1), 1);
}

export function heading(section: SectionName, preset: Preset): string {
  if (section === 'model') return asText(preset.family);
  if (section === 'gpu') return asText(preset.vendor);
  if (preset === noRecipe) return '';
  const gpus = gpusOf(preset);
  return gpus === 1 ? 'One GPU' : gpus <= 8 ? 'One machine' : 'Many machines';
}

const first = ['llama3', 'llama2', 'qwen3', 'mistral', 'gpt3', 'gpt2', 'NVIDIA', 'AMD', 'One GPU', 'One machine'];
const size = (preset: Preset) => asNumber(preset.parameters) || -asNumber(preset.memory_bytes) || gpusOf(preset);
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const sorted = new WeakMap<readonly Preset[], Preset[]>();

/** Families that most people look for stand first; within a family by size, of one size the later version. */
function ordered(section: SectionName, presets: readonly Preset[]): Preset[] {
  let found = sorted.get(presets);
  if (!found) {
    const keyed = presets.map(preset => {
      const title = heading(section, preset);
      const rank = (first.indexOf(title) + first.length + 1) % (first.length + 1);
      return { preset, rank, title, size: size(preset) };
    });
    keyed.sort(
      (a, b) => a.rank - b.rank || order(a.title, b.title) || a.size - b.size || order(b.preset.name, a.preset.name),
    );
    found = keyed.map(({ preset }) => preset);
    sorted.set(presets, found);
  }
  return found;
}

/** What most names of a family begin with: "Llama 2" of "Llama 2 7B" and "Llama 2 13B", "Llama 3" of 3.1 and 3.2. */
export function familyTitle(section: SectionName, presets: readonly Preset[], family: string): string {
  if (section !== 'model') return family;
  const known = titled.get(presets) ?? new Map<string, string>();
  titled.set(presets, known);
  const title = known.get(family) ?? commonStart(presets, family);
  known.set(family, title);
  return title;
}

const titled = new WeakMap<readonly Preset[], Map<string, string>>();

function commonStart(presets: readonly Preset[], family: string): string {
  const names = presets.filter(preset => heading('model', preset) === family).map(preset => preset.name);
  for (const pattern of [/^\S+ \S+(?= )/, /^\S+ \d+(?=[. ])/, /^\S+(?= )/]) {
    const starts = names.map(name => pattern.exec(name)?.[0]);
    const common = starts.find(start => start && starts.filter(other => other === start).length > names.length / 2);
    if (common) return common;
  }
  const shared = names.reduce((start, name) => {
    let length = 0;
    while (length < start.length && start[length] === name[length]) length++;
    return start.slice(0, length);
  });
  return shared.length > 2 ? shared.replace(/[\s.-]+$/, '') : family;
}

/** "24 GiB 24GB" of a card that is sold with 24 GB. */
function marketed(preset: Preset): string {
  const size = Math.round(asNumber(preset.memory_bytes) / 2 ** 30);
  return size > 0 ? `${size} GiB ${size}GB` : '';
}

const wordsOf = (query: string) =>
  query
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);

/** Does a word of a query occur? What begins with a digit does where a number begins: "8b" is not the end of "18B". */
function occurs(word: string): (text: string) => boolean {
  if (!/^\.?\d[\w.]*$/.test(word)) return text => text.includes(word);
  const number = new RegExp(`(^|[^\\d.])${word.replaceAll('.', '\\.')}`);
  return text => number.test(text);
}

/** The checkpoint that a query means; empty if the preset's own names have its words. */
export function checkpointOf(preset: Preset, query: string): string {
  const wanted = wordsOf(query).map(occurs);
  const says = (name: string) => wanted.every(found => found(name.toLowerCase()));
  if (says([preset.id, preset.name, asText(preset.hugging_face_id)].join(' '))) return '';
  return ((preset.checkpoints ?? []) as string[]).find(says) ?? '';
}

interface Known {
  hub: string;
  text: string;
  squeezed: string;
}
const known = new WeakMap<Preset, Known>();

/** What a preset is found by. */
function knownBy(section: SectionName, preset: Preset): Known {
  let found = known.get(preset);
  if (!found) {
    const hub = asText(preset.hugging_face_id).toLowerCase();
    const named = [preset.id, preset.name, hub, preset.checkpoints];
    const texts = [...named, heading(section, preset), preset.description, preset.memory_technology];
    const text = [...texts, detail(section, preset, 'GB'), marketed(preset)].join(' ').toLowerCase();
    found = { hub, text, squeezed: text.replace(/[\s-]+/g, '') };
    known.set(preset, found);
  }
  return found;
}

/**
 * Every word of the query must occur somewhere in the preset's names, those of its other checkpoints too, or be a name on
 * the Hugging Face hub that goes on from the preset's, as "…-Instruct" does. Names that begin with the query stand first.
 */
export function search(section: SectionName, presets: readonly Preset[], query: string): Preset[] {
  const wanted = wordsOf(query).map(word => ({ word, found: occurs(word), squeezed: occurs(word.replace(/-/g, '')) }));
  const all = ordered(section, presets);
  if (wanted.length === 0) return section === 'recipe' ? [noRecipe, ...all] : all;
  const found = all.filter(preset => {
    const { hub, text, squeezed } = knownBy(section, preset);
    const derived = (word: string) => hub !== '' && word.startsWith(`${hub}-`);
    return wanted.every(one => derived(one.word) || one.found(text) || one.squeezed(squeezed));
  });
  const named = (preset: Preset) => preset.name.toLowerCase().startsWith(query.trim().toLowerCase());
  return [...found.filter(named), ...found.filter(preset => !named(preset))];
}
