// What a first visit asks the engine, with the answers, recorded when the page was built (pages/prerender.js). The page
// is complete with them; the engine itself is wanted when the reader asks something else.

import type { Presets } from './border.js';

export interface Recorded {
  version: string;
  presets: Presets;
  /** By question: the engine's function, a blank, and its argument. */
  answers: Record<string, unknown>;
}

/** What stands in the page, inside the element, unless it was opened with a link of which it knows nothing. */
export function recordedIn(host: Element, link: string): Recorded | undefined {
  const text = host.querySelector('script[type="application/json"]')?.textContent;
  const recorded: Recorded | undefined = text ? JSON.parse(text) : undefined;
  return link === '' || `read_link ${link}` in (recorded?.answers ?? {}) ? recorded : undefined;
}
