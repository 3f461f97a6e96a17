// The answer that stands in the page itself: the default configuration's, computed by the engine when the page was
// built (pages/prerender.js). It is what a first visit sees while the engine is on its way.

import type { SectionName, Summary } from './border.js';

export interface FirstAnswer {
  /** What the pickers say. */
  names: Record<SectionName, string>;
  result: Summary;
}

export function firstAnswer(host: Element): FirstAnswer | undefined {
  const text = host.querySelector('script[type="application/json"]')?.textContent;
  return text ? JSON.parse(text) : undefined;
}
