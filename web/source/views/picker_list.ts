// An open list of presets with its search box (the combobox pattern of the ARIA practices guide).

import { css, html, type LitElement, nothing } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { afterPaint } from '../after_paint.js';
import type { Preset, SectionName } from '../border.js';
import { choose } from '../choosing.js';
import { asText } from '../format.js';
import { checkpointOf, detail, familyTitle, heading, search } from '../preset_search.js';
import { icons } from './icons.js';
import { titles } from './pickers.js';
import type { PickerState, View } from './view.js';

type Host = View & LitElement;

const lists = { model: 'models', gpu: 'gpus', recipe: 'recipes' } as const;

/** Out of sight at once, gone after that paint. */
function close(view: View, section: SectionName): void {
  view.renderRoot.querySelector('.list')?.classList.add('closed');
  view.calculator.afterPaint(() => {
    view.setPicker(undefined);
    view.renderRoot.querySelector<HTMLElement>(`#picker-${section}`)?.focus();
  });
}

function pick(view: View, section: SectionName, preset: Preset | undefined): void {
  close(view, section);
  if (preset) choose(view.calculator, section, preset.id);
}

/** The list of what its search box holds now. */
const searched = (view: View, picker: PickerState, { value }: HTMLInputElement) =>
  value === picker.query ? picker : opened(view, picker.section, value);

/** A letter is on the screen before what it finds is looked for. */
function type(view: View, box: HTMLInputElement): void {
  afterPaint(() => {
    const { picker } = view;
    if (picker && box.isConnected) view.setPicker(searched(view, picker, box));
  });
}

const steering = /^(Arrow(Down|Up)|Page(Down|Up)|Enter|Escape)$/;

function steer(view: View, picker: PickerState, key: string): void {
  const { matches, active, section } = picker;
  const last = matches.length - 1;
  const moves: Record<string, number> = {
    ArrowDown: active >= last ? 0 : active + 1,
    ArrowUp: active <= 0 ? last : active - 1,
    PageDown: Math.min(last, active + 8),
    PageUp: Math.max(0, active - 8),
  };
  const next = moves[key];
  if (next !== undefined) view.setPicker({ ...picker, active: next });
  else if (key === 'Enter') pick(view, section, matches[active]);
  else close(view, section);
}

/** A key for an open list whose search box has no focus. */
export function press(view: View, key: string): void {
  const { picker } = view;
  if (!picker || key === '') return;
  if (steering.test(key)) steer(view, picker, key);
  else view.setPicker(opened(view, picker.section, picker.query + key));
}

function keys(view: View) {
  return (event: KeyboardEvent) => {
    const { picker } = view;
    if (!picker || !steering.test(event.key)) return;
    steer(view, searched(view, picker, event.currentTarget as HTMLInputElement), event.key);
    event.preventDefault();
    event.stopPropagation();
  };
}

/** As many as can be seen at once: the others are drawn when these are on the screen. */
const inSight = { model: 12, gpu: 12, recipe: 8 } as const;
/** What stands before the active one as a list opens: it is in sight without scrolling. */
const before = 3;
/** So many fill a list to its end, recipes with a line of description each. */
const filling = { model: 10, gpu: 10, recipe: 6 } as const;

/** The first that is drawn. */
function start({ section, matches, active, drawn }: PickerState): number {
  if (drawn >= matches.length) return 0;
  const wished = active - before - Math.floor((drawn - inSight[section]) / 2);
  return Math.max(0, Math.min(wished, matches.length - filling[section]));
}

/** Once a list is drawn: as it opens it is in sight and its search box has the focus, later its active option is. */
export function drawnList(view: Host, picker: PickerState, opening: boolean): void {
  view.updateComplete.then(() => {
    const section = view.picker?.section;
    const at = (place: string) => view.renderRoot.querySelector<HTMLElement>(`#${place}`);
    if (opening) {
      const box = at(`search-${section}`);
      box?.focus({ preventScroll: true });
      view.coming = undefined;
      box?.closest('.list')?.scrollIntoView({ block: 'nearest' });
    }
    at(`options-${section} .active`)?.scrollIntoView({ block: 'nearest' });
  });
  drawRest(view, picker);
}

/** In parts that no key has to wait for. */
function drawRest(view: Host, { matches, drawn }: PickerState): void {
  if (drawn >= matches.length) return;
  afterPaint(() => {
    if (view.picker?.matches === matches && view.picker.drawn === drawn) extend(view, view.picker);
  });
}

/** Draws more of a list; what the reader looks at stays where it is, though more may stand above it. */
async function extend(view: Host, picker: PickerState): Promise<void> {
  const box = view.renderRoot.querySelector(`#options-${picker.section}`);
  const active = () => box?.querySelector('.active');
  const place = () => active()?.getBoundingClientRect().top ?? 0;
  const above = active() && start(picker) > 0;
  const from = above ? place() : 0;
  view.picker = { ...picker, drawn: picker.drawn + 40 };
  view.requestUpdate();
  drawRest(view, view.picker);
  await view.updateComplete;
  if (above && box) box.scrollTop += place() - from;
}

interface Family {
  key: string;
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
    else found.push({ key: `${title}/${found.filter(one => one.title === title).length}`, title, members: [preset] });
  }
  return found;
}

/** A list as it opens: whole, at the preset that is chosen; with a query at the first that matches. */
export function opened({ calculator }: View, section: SectionName, query = ''): PickerState {
  const matches = search(section, calculator.state.engine?.presets[lists[section]] ?? [], query);
  const chosen = query ? 0 : matches.findIndex(preset => preset.id === (calculator.preset(section)?.id ?? ''));
  return { section, query, matches, active: Math.max(0, chosen), drawn: inSight[section] };
}

export function list(view: View, picker: PickerState) {
  const { section, matches, active, drawn, query } = picker;
  const { presets } = view.calculator.state.engine!;
  const { units } = view.calculator.state;
  const chosen = view.calculator.preset(section)?.id ?? '';
  const current = matches[active];
  const from = start(picker);
  const shown = matches.slice(from, from + drawn);
  const option = (preset: Preset) => {
    const described = section === 'recipe' ? asText(preset.description) : checkpointOf(preset, query);
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
    if (index >= 0) pick(view, section, matches[index]);
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
        @input=${(event: Event) => type(view, event.target as HTMLInputElement)}
        @keydown=${keys(view)}
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
      ${repeat(families(section, shown), ({ key }) => key, family)}
    </div>
    ${matches.length === 0 ? html`<p class="nothing muted" role="status">Nothing matches “${picker.query}”.${section === 'model' ? ' Import reads the config.json of others.' : ''}</p>` : nothing}
  </div>`;
}

export const listStyles = css`
  .list {
    position: absolute;
    z-index: 10;
    inset-block-start: calc(100% + 6px);
    inset-inline-start: 0;
    inline-size: max(100%, min(440px, 100cqi));
    background: var(--surface);
    border: 1px solid var(--hairline);
    border-radius: var(--radius);
    box-shadow: 0 14px 44px light-dark(rgb(20 18 10 / 0.16), rgb(0 0 0 / 0.6));
    contain: layout style paint;
    overflow: hidden;
  }
  .closed {
    opacity: 0;
  }
  .find {
    display: flex;
    align-items: center;
    gap: 9px;
    padding-inline: 14px;
    border-block-end: 1px solid var(--hairline);
    color: var(--muted);
  }
  .find input {
    flex: 1;
    min-inline-size: 0;
    min-block-size: 44px;
    border: 0;
    outline: 0;
    background: none;
    color: var(--ink);
  }
  .find:focus-within {
    box-shadow: inset 0 -2px 0 var(--accent);
  }
  .options {
    max-block-size: min(380px, 60vh, 100vh - 150px);
    padding: 4px 6px 8px;
    overflow-y: auto;
    overscroll-behavior: contain;
    scroll-padding-block: 34px 8px;
  }
  .familybox {
    content-visibility: auto;
    contain-intrinsic-block-size: auto calc(31px * var(--options) + 30px);
  }
  .family {
    padding: 10px 8px 3px 32px;
    color: var(--muted);
    font-size: 12px;
    font-weight: 550;
  }
  .option {
    display: flex;
    align-items: baseline;
    gap: 8px;
    padding: 5px 8px;
    border-radius: 7px;
    font-size: 14px;
    cursor: pointer;
  }
  .option.active {
    background: var(--sunken);
  }
  @media (forced-colors: active) {
    .option.active {
      outline: 2px solid Highlight;
      outline-offset: -2px;
    }
  }
  .option[aria-selected='true'] .optionname {
    font-weight: 640;
  }
  .option small {
    display: block;
    color: var(--muted);
    font-size: 12.5px;
    font-weight: 400;
    line-height: 1.4;
  }
  .optionname {
    flex: 1;
    min-inline-size: 0;
  }
  .tick {
    flex: none;
    inline-size: 16px;
    block-size: 16px;
    align-self: center;
    color: var(--accent);
  }
  .nothing {
    padding: 14px 16px;
    font-size: 14px;
  }
  @media (pointer: coarse) {
    .option {
      padding-block: 10px;
    }
  }
  @container (min-width: 720px) {
    .picker:last-child .list {
      inset-inline: auto 0;
    }
  }
  @container (max-width: 719px) {
    .list {
      inline-size: 100%;
    }
  }
`;
