// What a first visit asks the engine, with the answers, recorded when the page was built (pages/prerender.js). The page
// is complete with them; the engine itself is wanted when the reader asks something else.

import type { GoodAnswer, Presets } from './border.js';

export interface Recorded {
  version: string;
  presets: Presets;
  /** Address of what the less common fields mean. */
  meanings: string;
  /** By question: the engine's function, a blank, and its argument. */
  answers: Record<string, unknown>;
}

/** What the page names beside itself; nothing where it cannot be had, for the engine knows it all. */
export async function recordedBy(host: Element): Promise<Recorded | undefined> {
  const address = host.getAttribute('recorded');
  if (!address) return undefined;
  const response = await fetch(address).catch(() => undefined);
  if (!response?.ok) return undefined;
  const recorded: Recorded = await response.json();
  complete(recorded);
  return recorded;
}

/** Of the configuration that is answered, fields that are as by default are not sent. */
export function complete({ presets, answers }: Recorded): void {
  for (const [question, answer] of Object.entries(answers))
    if (question.startsWith('estimate'))
      for (const { path, default: value } of presets.fields) {
        const names = path.split('/').slice(1);
        const last = names.pop()!;
        // biome-ignore lint/suspicious/noExplicitAny: groups of fields, as the engine nests them
        const group = names.reduce((at: any, name) => at[name], (answer as GoodAnswer).config);
        group[last] ??= value;
      }
}

/** Is all recorded that a page opened with this link asks? */
export function isFirstVisit({ answers }: Recorded, link: string): boolean {
  return link === '' || `read_link ${link}` in answers;
}
