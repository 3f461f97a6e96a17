// The knobs: groups of common fields, everything else behind "More", and the meaning of the field in hand.

import { css, html, nothing } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import { live } from 'lit/directives/live.js';
import { afterPaint } from '../after_paint.js';
import type { Field } from '../border.js';
import { compactFields, fieldLabel, type Group, groupFields } from '../fields.js';
import { plural } from '../format.js';
import { formatNumber } from '../number_grammar.js';
import { fieldName, optionLabel } from '../option_labels.js';
import { fetchMeanings } from './meanings.js';
import { fieldRow, unitsOf } from './number_field.js';
import { adapters } from './pickers.js';
import type { View } from './view.js';

let grouped: { fields: Field[]; objective: string; groups: ReturnType<typeof groupFields> } | undefined;

function groupsOf(fields: Field[], objective: string) {
  if (grouped?.fields !== fields || grouped.objective !== objective)
    grouped = { fields, objective, groups: groupFields(fields, objective) };
  return grouped.groups;
}

function derived(view: View, title: string) {
  const result = view.calculator.state.good?.result;
  if (!result || title !== 'Parallelism' || view.calculator.stale) return nothing;
  const size = (name: string) => Number(view.calculator.value(`/recipe/${name}`) ?? 1);
  const factors = [
    ['data', size('data_parallel_size')],
    ['tensor', size('tensor_parallel')],
    ['pipeline', size('pipeline_parallel')],
    ['context', size('context_parallel')],
  ].filter(([, value]) => Number(value) > 1);
  const equation = factors.length > 1 ? `: ${factors.map(([name, value]) => `${name} ${value}`).join(' × ')}` : '';
  return html`<p class="derived muted">
    ${plural(result.num_gpus, 'GPU')}${equation}. One step takes ${plural(result.global_batch_size, 'sequence')}.
  </p>`;
}

/** What a closed group holds, in few words. */
function gist(view: View, title: string, fields: Field[]): string {
  const { good } = view.calculator.state;
  if (title === 'Parallelism') return good ? plural(good.result.num_gpus, 'GPU') : '';
  if (title === 'Adapters') return adapters(view) || 'none';
  return fields
    .filter(field => field.options)
    .slice(0, 2)
    .map(field => optionLabel(field, String(view.calculator.value(field.path) ?? '')))
    .join(', ');
}

/** `id` stands for a group whose fields are drawn only while it is open; a search holds it open. */
function group(view: View, { title, fields }: Group, open: boolean, id?: string, held = false) {
  const edits = fields.filter(field => view.calculator.state.edited.has(field.path)).length;
  return html`<details class="group" ?open=${id ? live(open) : open} data-group=${title}>
    <summary @click=${id ? unfold(view, id, held) : nothing}>
      <span>${title}</span><span class="gist muted">${gist(view, title, fields)}</span>${edits > 0 ? html`<span class="badge">${plural(edits, 'change')}</span>` : nothing}<i class="chevron"></i>
    </summary>
    ${
      open || !id
        ? html`<div class="fields">${fields.map(field => fieldRow(view, field))} ${derived(view, title)}</div>`
        : nothing
    }
  </details>`;
}

/** It opens by itself, and what it holds follows. */
const unfold =
  (view: View, id: string, held = false) =>
  (event: Event) => {
    if (held) event.preventDefault();
    else view.toggle(id);
  };

/** Stands for a group under "More" among what is open. */
export const groupId = (title: string) => `group/${title}`;

/** The groups with the fields that every word of the search is said of. */
function fieldsFound(groups: Group[], query: string): Group[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return groups;
  const told = (title: string, field: Field) =>
    `${title} ${fieldLabel(field)} ${fieldName(field)} ${field.meaning ?? ''}`.toLowerCase();
  return groups
    .map(({ title, fields }) => ({
      title,
      fields: fields.filter(field => wanted.every(word => told(title, field).includes(word))),
    }))
    .filter(({ fields }) => fields.length > 0);
}

/** What is found stands in sight below the box, where the fields scroll by themselves. */
const find = (view: View) => (event: Event) => {
  const box = event.target as HTMLInputElement;
  view.findField(box.value);
  afterPaint(() => {
    const panel = box.closest('.knobs')!;
    const distance = box.getBoundingClientRect().top - panel.getBoundingClientRect().top - 16;
    panel.scrollTop += distance;
  });
};

function moreGroups(view: View, groups: Group[]) {
  const { fieldQuery } = view;
  const found = fieldsFound(groups, fieldQuery);
  const searching = fieldQuery.trim() !== '';
  return html`<div class="box findfield">
      <input
        type="search"
        aria-label="Find a field"
        placeholder="Find a field"
        autocomplete="off"
        spellcheck="false"
        .value=${fieldQuery}
        @input=${find(view)}
      />
    </div>
    ${found.map(one => {
      const id = groupId(one.title);
      return keyed(one.title, group(view, one, searching || view.open.has(id), id, searching));
    })}
    ${found.length === 0 ? html`<p class="muted derived" role="status">No field matches.</p>` : nothing}`;
}

function more(view: View, groups: Group[]) {
  const all = groups.reduce((sum, { fields }) => sum + fields.length, 0);
  const open = view.open.has('more');
  if (open) fetchMeanings(view);
  return html`<details class="group more" ?open=${live(open)}>
    <summary @click=${unfold(view, 'more')}>
      <span>More</span><span class="badge">${plural(all, 'field')}</span><i class="chevron"></i>
    </summary>
    ${open ? moreGroups(view, groups) : nothing}
  </details>`;
}

function helpStrip(view: View, fields: Field[]) {
  const field = fields.find(({ path }) => path === view.help);
  if (field && !field.meaning) fetchMeanings(view);
  if (!field)
    return html`<div class="strip"><p class="muted">Fields take 4k, 2^12, 175B or 8*1024. Arrow keys step.</p></div>`;
  const units = unitsOf(view, field);
  const bounds =
    (field.type === 'integer' || field.type === 'number') && field.minimum !== undefined && field.maximum !== undefined
      ? `${formatNumber(field.minimum, units)} to ${formatNumber(field.maximum, units)}${field.unit ? ` ${units ?? field.unit}` : ''}`
      : '';
  return html`<div class="strip" aria-hidden="true">
    <p><strong>${fieldLabel(field)}</strong> ${bounds ? html`<span class="muted">${bounds}</span>` : nothing}</p>
    <p class="muted">${field.meaning}</p>
  </div>`;
}

/** Without `whole` the first of its groups alone: the others follow them. */
export function controls(view: View, whole: boolean) {
  const fields = view.calculator.state.engine?.presets.fields ?? [];
  const groups = groupsOf(fields, `${view.calculator.value('/recipe/objective')}`);
  const shown = whole ? groups.common : groups.common.slice(0, 2);
  return html`<section class="panel knobs" part="controls" id="knobs" aria-label="Configuration">
    ${shown.map(one => keyed(one.title, group(view, one, view.roomy || one === groups.common[0])))}
    ${whole ? html`${more(view, groups.more)} ${helpStrip(view, fields)}` : nothing}
  </section>`;
}

export function compactControls(view: View) {
  const fields = view.calculator.state.engine?.presets.fields ?? [];
  const shown = compactFields
    .map(path => fields.find(field => field.path === path))
    .filter(field => field !== undefined);
  return html`<section class="panel compact" part="controls" aria-label="Configuration">${shown.map(field => fieldRow(view, field))}</section>`;
}

export const controlStyles = css`
  .panel.knobs {
    padding: 4px 20px 0;
  }
  .group {
    border-block-end: 1px solid var(--hairline);
  }
  .group .group:last-child,
  .knobs > .group:nth-last-child(2) {
    border-block-end: 0;
  }
  .group > summary {
    display: flex;
    align-items: center;
    gap: 8px;
    min-block-size: 46px;
    font-size: 14.5px;
    font-weight: 650;
    list-style: none;
    cursor: pointer;
  }
  .group > summary::-webkit-details-marker {
    display: none;
  }
  .group > summary > span:first-child {
    flex: none;
  }
  .group > summary > .gist,
  .group > summary > .badge {
    font-size: 12.5px;
    font-weight: 450;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .group > summary > .gist {
    flex: 1;
    text-align: end;
  }
  .group[open] > summary > .gist {
    visibility: hidden;
  }
  .group > summary > .chevron {
    margin-inline-start: auto;
  }
  .more .group > summary {
    min-block-size: 40px;
    font-size: 13.5px;
    font-weight: 600;
  }
  .badge {
    flex: none;
    color: var(--muted);
    font-size: 12.5px;
    font-weight: 450;
  }
  .fields {
    padding-block: 0 12px;
  }
  .findfield {
    margin-block-end: 4px;
  }
  .derived {
    padding-block: 6px 2px;
    font-size: 13px;
    line-height: 1.45;
  }
  .strip {
    position: sticky;
    inset-block-end: 0;
    min-block-size: 64px;
    margin-inline: -20px;
    padding: 12px 20px 14px;
    background: var(--surface);
    border-block-start: 1px solid var(--hairline);
    border-radius: 0 0 var(--radius) var(--radius);
    font-size: 13px;
    line-height: 1.45;
  }
  .strip span {
    margin-inline-start: 6px;
  }
  .compact {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(280px, 1fr));
    gap: 4px 32px;
    align-items: start;
  }
  /* Beside the results the knobs stay in reach, below the slim line. */
  @container (min-width: 900px) {
    .panel.knobs {
      position: sticky;
      inset-block-start: 66px;
      max-block-size: calc(100vh - 78px);
      overflow-y: auto;
      /* What has the focus stays clear of the strip below. */
      scroll-padding-block-end: 160px;
      scrollbar-width: thin;
      scrollbar-color: var(--outline) transparent;
    }
  }
  @container (max-width: 340px) {
    .group > summary > .gist {
      display: none;
    }
  }
  @media (pointer: coarse) {
    .group > summary,
    .more .group > summary {
      min-block-size: 48px;
    }
  }
  @container (max-width: 899px) {
    .strip {
      display: none;
    }
    .fields {
      display: grid;
      grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr));
      gap: 0 32px;
      align-items: start;
    }
  }
  @container (max-width: 560px) {
    .panel.knobs {
      padding-inline: 14px;
    }
    .compact {
      grid-template-columns: minmax(0, 1fr);
    }
  }
  @media print {
    .knobs {
      display: none;
    }
  }
`;
