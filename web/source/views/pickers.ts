// Model, GPU and recipe: three lists with a search box each (the combobox pattern of the ARIA practices guide).

import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { repeat } from 'lit/directives/repeat.js';
import type { Preset, Section, SectionName } from '../border.js';
import { optionLabel } from '../fields.js';
import { count, gigabytes, grouped, plural } from '../format.js';
import { asNumber, asText, detail, familyTitle, heading, search } from '../preset_search.js';
import { icons } from './icons.js';
import type { PickerState, View } from './view.js';

const titles: Record<SectionName, string> = { model: 'Model', gpu: 'GPU', recipe: 'Recipe' };
const lists = { model: 'models', gpu: 'gpus', recipe: 'recipes' } as const;

/** One line under a picked preset: the sizes that matter most. */
function summary(view: View, section: SectionName): string {
  const { config: chosen, good, goodPresets, units } = view.calculator.state;
  // An older answer knows nothing of a newly picked preset.
  if (!good || goodPresets[section] !== (chosen[section]?.preset ?? '')) return '\u00a0';
  const config = good.config[section] as Section;
  const number = (name: string) => asNumber(config[name]);
  if (section === 'model') {
    return `${count(good.result.parameters)} parameters, ${number('num_hidden_layers')} layers of ${grouped(number('hidden_size'))}`;
  }
  if (section === 'gpu') {
    const parts = [gigabytes(number('memory_bytes'), units)];
    const technology = asText(config.memory_technology);
    if (technology) parts[0] += ` ${technology.toUpperCase()}`;
    if (number('bandwidth_gb_per_s') > 0) parts.push(`${grouped(number('bandwidth_gb_per_s'))} GB/s`);
    return parts.join(', ');
  }
  const fields = view.calculator.state.engine?.presets.fields ?? [];
  const parts = ['framework', 'precision', 'optimizer'].map(name => {
    const field = fields.find(({ path }) => path === `/recipe/${name}`);
    return field ? optionLabel(field, asText(config[name])) : '';
  });
  if (!view.calculator.stale) parts.push(plural(good.result.num_gpus, 'GPU'));
  return parts.filter(Boolean).join(', ');
}

function close(view: View, root: ParentNode | null, section: SectionName): void {
  view.setPicker(undefined);
  root?.querySelector<HTMLElement>(`#picker-${section}`)?.focus();
}

function pick(view: View, section: SectionName, preset: Preset | undefined, event: Event): void {
  const root = (event.currentTarget as Element).getRootNode() as ShadowRoot;
  if (preset) view.calculator.choose(section, preset.id);
  close(view, root, section);
}

function keys(view: View, picker: PickerState) {
  return (event: KeyboardEvent) => {
    const { matches, active, section } = picker;
    const last = matches.length - 1;
    const moves: Record<string, number> = {
      ArrowDown: active >= last ? 0 : active + 1,
      ArrowUp: active <= 0 ? last : active - 1,
      PageDown: Math.min(last, active + 8),
      PageUp: Math.max(0, active - 8),
    };
    const next = moves[event.key];
    if (next !== undefined) view.setPicker({ ...picker, active: next });
    else if (event.key === 'Enter') pick(view, section, matches[active], event);
    else if (event.key === 'Escape') close(view, (event.currentTarget as Element).getRootNode() as ShadowRoot, section);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

/** As many as can be seen at once: the others are drawn when these are on the screen. */
const inSight = 14;

interface Family {
  title: string;
  members: Preset[];
}

/** Neighbours under one heading. */
function families(section: SectionName, presets: readonly Preset[]): Family[] {
  const found: Family[] = [];
  for (const preset of presets) {
    const title = heading(section, preset);
    const last = found.at(-1);
    if (last?.title === title) last.members.push(preset);
    else found.push({ title, members: [preset] });
  }
  return found;
}

function list(view: View, picker: PickerState) {
  const { section, matches, active, drawn } = picker;
  const { presets } = view.calculator.state.engine!;
  const { units } = view.calculator.state;
  const chosen = view.calculator.preset(section)?.id ?? '';
  const current = matches[active];
  const from = Math.max(0, Math.min(active - Math.floor(drawn / 2), matches.length - drawn));
  const shown = matches.slice(from, from + drawn);
  const option = (preset: Preset) => {
    const described = section === 'recipe' ? asText(preset.description) : '';
    return html`<div
      role="option"
      id="option-${section}-${preset.id}"
      class="option ${preset === current ? 'active' : ''}"
      aria-selected=${preset.id === chosen}
    >
      <span class="tick">${preset.id === chosen ? icons.check() : nothing}</span>
      <span class="optionname">${preset.name}${described ? html`<small>${described}</small>` : nothing}</span>
      <span class="muted figure">${detail(section, preset, units)}</span>
    </div>`;
  };
  const family = ({ title, members }: Family) => html`<div
    class="familybox"
    role="group"
    aria-label=${title ? familyTitle(section, presets[lists[section]], title) : titles[section]}
    .style=${`--options:${members.length}`}
  >
    ${title ? html`<div class="family" aria-hidden="true">${familyTitle(section, presets[lists[section]], title)}</div>` : nothing}
    ${repeat(members, preset => preset.id, option)}
  </div>`;
  const under = (event: Event) => {
    const id = (event.target as Element).closest('.option')?.id;
    return matches.findIndex(preset => `option-${section}-${preset.id}` === id);
  };
  const point = (event: Event) => {
    const index = under(event);
    if (index >= 0 && index !== active) view.setPicker({ ...picker, active: index });
  };
  const choose = (event: Event) => {
    const index = under(event);
    if (index >= 0) pick(view, section, matches[index], event);
  };
  return html`<div class="list">
    <div class="find">
      ${icons.search()}
      <input
        id="search-${section}"
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck="false"
        placeholder="Search ${presets[lists[section]].length} ${section === 'gpu' ? 'GPUs' : `${section}s`}"
        aria-label="Search ${section === 'gpu' ? 'GPUs' : `${section}s`}"
        aria-expanded="true"
        aria-controls="options-${section}"
        aria-autocomplete="list"
        aria-activedescendant=${current ? `option-${section}-${current.id}` : nothing}
        .value=${picker.query}
        @input=${(event: Event) => {
          const query = (event.target as HTMLInputElement).value;
          const found = search(section, presets[lists[section]], query);
          view.setPicker({ section, query, matches: found, active: 0, drawn: inSight });
        }}
        @keydown=${keys(view, picker)}
      />
    </div>
    <div
      class="options"
      role="listbox"
      id="options-${section}"
      aria-label=${titles[section]}
      @mousedown=${(event: Event) => event.preventDefault()}
      @pointermove=${point}
      @click=${choose}
    >
      ${repeat(families(section, shown), ({ title, members }) => `${title}/${members[0]!.id}`, family)}
    </div>
    ${matches.length === 0 ? html`<p class="nothing muted" role="status">Nothing matches “${picker.query}”.${section === 'model' ? ' Import takes the config.json of any model.' : ''}</p>` : nothing}
  </div>`;
}

function defaultRecipe(view: View): string {
  const framework = view.calculator.value('/recipe/framework');
  return framework ? `Defaults of ${framework}` : 'Defaults';
}

/** Drawn again only when something in it has changed. */
function picker(view: View, section: SectionName) {
  const { calculator } = view;
  const { engine, config, good, units } = calculator.state;
  const open = view.picker?.section === section ? view.picker : undefined;
  const edits = calculator.editsIn(section);
  const framework = section === 'recipe' && calculator.value('/recipe/framework');
  const shown = [engine, config[section]?.preset, good, units, open, edits, framework, calculator.stale];
  return guard(shown, () => drawnPicker(view, section, open, edits));
}

function drawnPicker(view: View, section: SectionName, open: PickerState | undefined, edits: number) {
  const { calculator } = view;
  const { engine } = calculator.state;
  const custom = section === 'recipe' ? defaultRecipe(view) : 'Custom';
  const name = engine ? (calculator.preset(section)?.name ?? custom) : '\u2026';
  const show = () => {
    const matches = search(section, calculator.state.engine?.presets[lists[section]] ?? [], '');
    const chosen = matches.findIndex(preset => preset.id === (calculator.preset(section)?.id ?? ''));
    const first = { section, query: '', matches, active: Math.max(0, chosen), drawn: inSight };
    view.setPicker(open ? undefined : first);
  };
  const leave = (event: FocusEvent) => {
    if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) view.setPicker(undefined);
  };
  return html`<div class="picker" @focusout=${open ? leave : nothing}>
    <button
      type="button"
      id="picker-${section}"
      class="pick"
      ?disabled=${!engine}
      aria-haspopup="listbox"
      aria-expanded=${open !== undefined}
      @click=${show}
      @keydown=${(event: KeyboardEvent) => {
        if (open || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return;
        event.preventDefault();
        show();
      }}
    >
      <span class="eyebrow">${titles[section]}</span>
      <span class="picked">${name}</span>
      <span class="summary muted">${summary(view, section)}</span>
      ${icons.chevron()}
    </button>
    ${
      edits > 0 && !open
        ? html`<button type="button" class="quiet edits" @click=${() => calculator.resetSection(section)}>
            ${plural(edits, 'change')}, reset
          </button>`
        : nothing
    }
    ${open ? list(view, open) : nothing}
  </div>`;
}

export function pickers(view: View) {
  return html`<section class="pickers" part="pickers" aria-label="What is trained, and on what">
    ${picker(view, 'model')} ${picker(view, 'gpu')} ${picker(view, 'recipe')}
  </section>`;
}
