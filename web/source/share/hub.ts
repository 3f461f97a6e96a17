// The name or address of a model on the Hugging Face hub, in place of its config.json: nothing is fetched from there, but
// many models are known here by name.

import type { Imported, Preset } from '../border.js';
import { asText } from '../format.js';

const address = /^(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co)\/([\w.-]+\/[\w.-]+)(?:[/?#].*)?$/;
const name = /^[\w-][\w.-]*\/[\w.-]+$/;

/** The one that has this name, else the nearest whose name it goes on from, as "…-Instruct" does. */
function named(models: readonly Preset[], wanted: string): Preset | undefined {
  const lower = wanted.toLowerCase();
  const hub = (preset: Preset) => asText(preset.hugging_face_id).toLowerCase();
  const checkpoints = (preset: Preset) => (preset.checkpoints ?? []) as string[];
  const begun = models.filter(preset => hub(preset) !== '' && lower.startsWith(`${hub(preset)}-`));
  return (
    models.find(preset => hub(preset) === lower) ??
    models.find(preset => checkpoints(preset).some(one => one.toLowerCase() === lower)) ??
    begun.sort((a, b) => hub(b).length - hub(a).length)[0]
  );
}

/** What the text names, as if its config.json had been read; nothing where it names no model. */
export function readHubName(text: string, models: readonly Preset[]): Imported | undefined {
  const trimmed = text.trim();
  const wanted = address.exec(trimmed)?.[1] ?? name.exec(trimmed)?.[0];
  if (!wanted) return undefined;
  const shared = { format: 'hub', unused: [] };
  const preset = named(models, wanted);
  if (preset) {
    const applied = [{ key: wanted, value: '', path: '/model', set: preset.id }];
    return { ...shared, ok: true, sections: ['model'], config: { model: { preset: preset.id } }, applied };
  }
  const issue = {
    code: 'unknown_preset',
    path: '/model',
    message: `No model here goes by the name ${wanted}, and nothing is fetched from the hub.`,
    hint: `Open https://huggingface.co/${wanted}/raw/main/config.json and paste what it says.`,
  };
  return { ...shared, ok: false, issues: [issue], sections: [], config: {}, applied: [] };
}
