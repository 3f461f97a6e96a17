// Light and dark: the reader's system decides, unless the reader has chosen on this page.

import type { LitElement, ReactiveController } from 'lit';

const key = 'trainmem-theme';
type Theme = 'light' | 'dark';

function apply(theme: Theme): void {
  document.documentElement.style.colorScheme = theme;
}

export function isDark(element: Element): boolean {
  const scheme = getComputedStyle(element).colorScheme;
  if (scheme === 'dark' || scheme === 'light') return scheme === 'dark';
  return scheme.includes('dark') && matchMedia('(prefers-color-scheme: dark)').matches;
}

/** The colour scheme of the page that an element owns. */
export class PageTheme implements ReactiveController {
  dark = false;
  private readonly system = matchMedia('(prefers-color-scheme: dark)');

  constructor(private readonly host: LitElement) {
    host.addController(this);
  }

  hostConnected(): void {
    if (!this.host.hasAttribute('page')) return;
    restore();
    this.read();
    this.system.addEventListener('change', this.read);
  }

  hostDisconnected(): void {
    this.system.removeEventListener('change', this.read);
  }

  switch = (): void => {
    choose(this.dark ? 'light' : 'dark');
    this.read();
  };

  /** Kept, because asking the browser while drawing would make it compute styles twice. */
  private read = (): void => {
    this.dark = isDark(this.host);
    this.host.requestUpdate();
  };
}

/** The reader's own choice, kept for the next visit. Storage may be forbidden; it then lasts as long as the page. */
function choose(theme: Theme): void {
  apply(theme);
  try {
    localStorage.setItem(key, theme);
  } catch {}
}

function restore(): void {
  try {
    const theme = localStorage.getItem(key);
    if (theme === 'dark' || theme === 'light') apply(theme);
  } catch {}
}
