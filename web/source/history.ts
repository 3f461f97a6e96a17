// Undo and redo: the configurations of this visit, in order.
//
// What is typed into one field counts as one step until another field is touched or a second has passed.

import type { Config } from './border.js';

const pause = 1000;
const longest = 500;

/** Paths at which two configurations differ. */
export function differences(a: unknown, b: unknown, path = ''): string[] {
  if (Object.is(a, b)) return [];
  const plain = (value: unknown) => typeof value === 'object' && value !== null;
  if (!plain(a) && !plain(b)) return [path];
  const one = (plain(a) ? a : {}) as Record<string, unknown>;
  const other = (plain(b) ? b : {}) as Record<string, unknown>;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap(name => differences(one[name], other[name], `${path}/${name}`));
}

export class History {
  private steps: Config[] = [];
  private at = -1;
  private lastPath = '';
  private lastTime = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The configuration that stands in the fields now. */
  note(config: Config): void {
    const current = this.steps[this.at];
    const changed = current === undefined ? [] : differences(current, config);
    if (current !== undefined && changed.length === 0) return;
    const path = changed.length === 1 ? changed[0]! : '';
    const goesOn = path !== '' && path === this.lastPath && this.now() - this.lastTime < pause;
    this.lastPath = path;
    this.lastTime = this.now();
    this.steps.length = this.at + 1;
    if (goesOn) this.steps[this.at] = config;
    else this.steps.push(config);
    if (this.steps.length > longest) this.steps.shift();
    this.at = this.steps.length - 1;
  }

  get canUndo(): boolean {
    return this.at > 0;
  }

  get canRedo(): boolean {
    return this.at < this.steps.length - 1;
  }

  /** The configuration before, or after, the one that stands there; nothing if there is none. */
  move(direction: -1 | 1): Config | undefined {
    const config = this.steps[this.at + direction];
    if (config) this.at += direction;
    this.lastPath = '';
    return config;
  }
}

/** Ctrl+Z and Ctrl+Shift+Z or Ctrl+Y, but not where a text is being edited: there they are the browser's. */
export function direction(event: KeyboardEvent): -1 | 1 | undefined {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return undefined;
  const [target] = event.composedPath();
  if (target instanceof HTMLInputElement && /^(text|search|number|url)$/.test(target.type)) return undefined;
  if (target instanceof HTMLTextAreaElement) return undefined;
  const key = event.key.toLowerCase();
  if (key === 'z') return event.shiftKey ? 1 : -1;
  return key === 'y' && !event.shiftKey ? 1 : undefined;
}
