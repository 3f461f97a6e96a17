// Light and dark: the reader's system decides, unless the reader has chosen on this page.

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

/** The reader's own choice, kept for the next visit. Storage may be forbidden; it then lasts as long as the page. */
export function setPageTheme(theme: Theme): void {
  apply(theme);
  try {
    localStorage.setItem(key, theme);
  } catch {}
}

export function restorePageTheme(): void {
  try {
    const theme = localStorage.getItem(key);
    if (theme === 'dark' || theme === 'light') apply(theme);
  } catch {}
}
