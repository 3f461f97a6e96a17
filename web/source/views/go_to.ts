// Brings a place of the calculator into view and, where it can take it, into focus.

import type { LitElement } from 'lit';
import { groupFields } from '../fields.js';
import { groupId } from './controls.js';
import { idOf } from './number_field.js';
import type { View } from './view.js';

/** The heading of a section that was opened. */
async function unfolded(view: View & LitElement, target: string): Promise<HTMLElement | null | undefined> {
  const heading = (root: ParentNode | undefined) => root?.querySelector<HTMLElement>(`${target} .unfold`);
  await view.updateComplete;
  const here = heading(view.renderRoot);
  if (here) return here;
  // Panels that try other configurations stand in an element of their own, whose script may still be on its way.
  const explore = view.renderRoot.querySelector<LitElement>('trainmem-explore');
  await customElements.whenDefined('trainmem-explore');
  explore?.requestUpdate();
  await explore?.updateComplete;
  return heading(explore?.renderRoot);
}

/** A field (/recipe/...), a component's rows (#rows/weights) or a section (#ladder). */
export function goTo(view: View & LitElement, target: string): void {
  const smooth = matchMedia('(prefers-reduced-motion: no-preference)').matches ? 'smooth' : 'instant';
  if (target.startsWith('#rows/')) {
    const opener = view.renderRoot.querySelector<HTMLElement>(`[id='${target.slice(1)}'] .opener`);
    if (opener?.getAttribute('aria-expanded') === 'false') view.toggle(target.slice(1));
    opener?.focus({ preventScroll: true });
    opener?.scrollIntoView({ behavior: smooth, block: 'center' });
    return;
  }
  if (target.startsWith('#')) {
    view.toggle(target.slice(1), true);
    unfolded(view, target).then(heading => {
      heading?.focus({ preventScroll: true });
      heading?.scrollIntoView({ behavior: smooth, block: target === '#ladder' ? 'center' : 'start' });
    });
    return;
  }
  const focus = () => {
    const field = view.renderRoot.querySelector<HTMLElement>(`[id='${idOf(target)}']`);
    for (let at = field?.closest('details'); at; at = at.parentElement?.closest('details')) at.open = true;
    field?.focus({ preventScroll: true });
    field?.scrollIntoView({ behavior: smooth, block: 'center' });
    return field;
  };
  if (focus()) return;
  const { more } = groupFields(view.calculator.state.engine?.presets.fields ?? []);
  const group = more.find(({ fields }) => fields.some(({ path }) => path === target));
  view.fieldQuery = '';
  view.toggle('more', true);
  if (group) view.toggle(groupId(group.title), true);
  view.updateComplete.then(focus);
}
