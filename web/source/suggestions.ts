// "Did you mean": the words that the engine suggests in place of one in a link, and the configuration that has one of
// them.

import type { Config, Engine, Issue, SectionName } from './border.js';
import { changed, leaves, lookUp, parts } from './config_paths.js';

/** A hint in pieces: plain text, and words to choose from. */
export interface Piece {
  text: string;
  suggested: boolean;
}

const repairable = new Set(['unknown_preset', 'unknown_word', 'unknown_key']);

/** `Did you mean "mbs" or "loss"?` has two words to choose from; what follows the question is text. */
export function pieces({ code, path, hint }: Issue): Piece[] {
  const [question = ''] = /^Did you mean [^?]*\?/.exec(hint) ?? [];
  if (!repairable.has(code) || (code === 'unknown_key' && !path.startsWith('/link/'))) return [plain(hint)];
  const split = question.split('"').map((text, index) => ({ text, suggested: index % 2 === 1 }));
  return [...split, plain(hint.slice(question.length))].filter(({ text }) => text !== '');
}

const plain = (text: string): Piece => ({ text, suggested: false });

/** `config` with `word` where `link` has the one that the issue complains of, and what is wrong even so. */
export function corrected(engine: Engine, config: Config, link: string, { code, path }: Issue, word: string) {
  const [section] = parts(path);
  if (code === 'unknown_preset') return { config: { ...config, [section]: { preset: word } }, issues: [] };
  if (code === 'unknown_word') return { config: changed(config, path, word), issues: [] };
  const key = path.replace('/link/', '');
  const value = link.split('&').find(part => part.startsWith(`${key}=`));
  const read = engine.readLink(`v=1&${word}${value?.slice(key.length) ?? ''}&end`);
  let mended = config;
  for (const leaf of leaves(read.config ?? {})) {
    const [name, ...names] = parts(leaf) as [SectionName, ...string[]];
    mended = changed(mended, leaf, lookUp(read.config?.[name], names));
  }
  // A link of one part names no model: that is no fault here.
  return { config: mended, issues: read.ok ? [] : read.issues.filter(issue => issue.code !== 'missing') };
}
