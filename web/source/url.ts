// The address of the page: the configuration lives in the fragment, as the engine's codec writes it.
//
// Typing replaces the current history entry, at most every 150 ms; choosing a preset makes one new entry, so that
// Back returns to what was there before. Keys that begin with "view." are settings of the page, such as the units;
// they stand before the closing "end", are never part of the configuration and never reach the engine.

import { isUnits, type Units } from './format.js';

/** How the page shows things: what is not the default stands in the link. */
export interface View {
  units?: Units;
  /** What the colours of the timeline tell apart. */
  timeline?: TimelineColours;
}

export type TimelineColours = 'phase' | 'component';

const pause = 150;
const longest = 8192;

/** A fragment or query in parts: the configuration's, the page's own, and what of the latter says nothing to it. */
export interface Split {
  link: string;
  view: View;
  ignored: string[];
}

/** What is said of those that are ignored. */
export const settingsHint = 'It has view.units (GiB, GB or bytes) and view.timeline (phase or component), each once.';

export function splitLink(text: string): Split {
  const bare = text.replace(/^[#?]/, '').slice(0, longest);
  const view: View = {};
  const ignored: string[] = [];
  const link = bare
    .split('&')
    .filter(pair => {
      if (!pair.startsWith('view.')) return pair !== '';
      const [key, value] = pair.split('=');
      // As with all keys, of two the first one counts.
      if (key === 'view.units' && isUnits(value) && !view.units) view.units = value;
      else if (key === 'view.timeline' && (value === 'phase' || value === 'component') && !view.timeline)
        view.timeline = value;
      else ignored.push(pair);
      return false;
    })
    .join('&');
  return { link, view, ignored };
}

/** The fragment for a configuration link and view settings. Defaults are left out; "end" stays the last word. */
export function joinLink(link: string, view: View): string {
  const { units = 'GiB', timeline = 'phase' } = view;
  const keys = `${units === 'GiB' ? '' : `view.units=${units}&`}${timeline === 'phase' ? '' : `view.timeline=${timeline}&`}`;
  return link.replace(/(^|&)end$/, `$1${keys}end`);
}

/** Writes the address of the window and says when somebody else changed it. */
export class Address {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pending: string | undefined;
  private written: string;

  constructor(private readonly changed: (fragment: string) => void) {
    this.written = location.hash.slice(1);
    addEventListener('popstate', this.follow);
    addEventListener('hashchange', this.follow);
    addEventListener('pagehide', this.flush);
  }

  close(): void {
    this.flush();
    removeEventListener('popstate', this.follow);
    removeEventListener('hashchange', this.follow);
    removeEventListener('pagehide', this.flush);
  }

  /** What the page was opened with; the query counts where tools have dropped the fragment. */
  static opened(): string {
    const query = location.search.slice(1);
    return location.hash.slice(1) || (/(^|&)model=/.test(query) ? query : '');
  }

  /** An edit: the current entry takes the new link, soon. */
  replace(fragment: string): void {
    this.pending = fragment;
    this.timer ??= setTimeout(this.flush, pause);
  }

  /** A choice: the old link stays in the history. */
  push(fragment: string): void {
    this.flush();
    if (fragment === this.written) return;
    history.pushState(null, '', this.path(fragment));
    this.written = fragment;
  }

  flush = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.pending === undefined) return;
    if (this.pending !== this.written || location.search) history.replaceState(null, '', this.path(this.pending));
    this.written = this.pending;
    this.pending = undefined;
  };

  private path(fragment: string): string {
    return `${location.pathname}#${fragment}`;
  }

  private follow = (): void => {
    const fragment = location.hash.slice(1);
    if (fragment === this.written) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.pending = undefined;
    this.written = fragment;
    this.changed(fragment);
  };
}
