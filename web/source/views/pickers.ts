// Model, GPU and recipe: what is picked, and the buttons that open the lists (picker_list.ts).

import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { afterPaint } from '../after_paint.js';
import type { Section, SectionName } from '../border.js';
import { allUnits, asNumber, asText, count, grouped, plural } from '../format.js';
import { optionLabel } from '../option_labels.js';
import type { PickerState, View } from './view.js';

export const titles: Record<SectionName, string> = { model: 'Model', gpu: 'GPU', recipe: 'Recipe' };

/** What a field of the recipe says, in words. */
function label(view: View, name: string, option: Section[string] | undefined): string {
  const field = view.calculator.state.engine?.presets.fields.find(({ path }) => path === `/recipe/${name}`);
  return field && option !== undefined ? optionLabel(field, asText(option)) : '';
}

/** "LoRA 16", "QLoRA 64": what is trained in place of the model; nothing where the model itself is. */
export function adapters({ calculator }: View): string {
  const rank = Number(calculator.value('/recipe/lora/rank'));
  if (!rank) return '';
  return `${calculator.value('/recipe/quantization') === 'none' ? '' : 'Q'}LoRA ${rank}`;
}

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
    const parts = [allUnits(number('memory_bytes'), units)];
    const technology = asText(config.memory_technology);
    if (technology) parts[0] += ` ${technology.toUpperCase()}`;
    if (number('bandwidth_gb_per_s') > 0) parts.push(`${grouped(number('bandwidth_gb_per_s'))} GB/s`);
    return parts.join(', ');
  }
  const parts = ['framework', 'precision', 'optimizer'].map(name => label(view, name, config[name]));
  parts.push(adapters(view));
  if (!view.calculator.stale) parts.push(plural(good.result.num_gpus, 'GPU'));
  return parts.filter(Boolean).join(', ');
}

function defaultRecipe(view: View): string {
  const framework = label(view, 'framework', view.calculator.value('/recipe/framework'));
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

const forList = /^([\w. ]|Arrow(Down|Up)|Page(Down|Up)|Enter|Escape)$/;

function drawnPicker(view: View, section: SectionName, open: PickerState | undefined, edits: number) {
  const { calculator } = view;
  const { engine } = calculator.state;
  const custom = section === 'recipe' ? defaultRecipe(view) : 'Custom';
  const name = engine ? (calculator.preset(section)?.name ?? custom) : '\u2026';
  const show = () => (open ? calculator.afterPaint(() => view.setPicker(undefined)) : view.openPicker(section));
  // Where a press moves the focus to the next list, its click opens that one in place of this.
  const leave = ({ currentTarget, relatedTarget }: FocusEvent) => {
    const box = currentTarget as Element;
    if (box.contains(relatedTarget as Node | null)) return;
    afterPaint(() => {
      const { activeElement } = box.getRootNode() as ShadowRoot;
      if (view.picker?.section === section && !box.contains(activeElement)) view.setPicker(undefined);
    });
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
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        // Space and Enter are clicks, but not while the list comes.
        const coming = view.coming?.section === section;
        const heard = coming ? forList : open ? /^[\w.]$/ : /^([\w.]|Arrow(Down|Up))$/;
        if (!heard.test(event.key)) return;
        event.preventDefault();
        view.openPicker(section, coming || event.key.length === 1 ? event.key : '');
      }}
    >
      <span class="eyebrow">${titles[section]}</span>
      <span class="picked" title=${name}>${name}</span>
      <span class="summary muted">${summary(view, section)}</span>
      <i class="chevron"></i>
    </button>
    ${
      edits > 0 && !open
        ? html`<button type="button" class="quiet edits" @click=${() => calculator.resetSection(section)}>
            ${plural(edits, 'change')}, reset
          </button>`
        : nothing
    }
    ${open ? view.parts?.list(view, open) : nothing}
  </div>`;
}

export function pickers(view: View) {
  return html`<section class="pickers" part="pickers" aria-label="What is trained, and on what">
    ${picker(view, 'model')} ${picker(view, 'gpu')} ${picker(view, 'recipe')}
  </section>`;
}
