// What the fields under "More" mean: a first visit goes without it, and fetches it as they are opened.

import type { View } from './view.js';

export async function fetchMeanings({ calculator }: View): Promise<void> {
  const { engine } = calculator.state;
  if (!engine?.meanings) return;
  const address = engine.meanings;
  delete engine.meanings;
  const response = await fetch(address).catch(() => undefined);
  if (!response?.ok) {
    engine.meanings = address; // asked again as soon as something is drawn
    return;
  }
  const meanings: Record<string, string> = await response.json();
  for (const field of engine.presets.fields) field.meaning ??= meanings[field.path] ?? '';
  calculator.redraw();
}
