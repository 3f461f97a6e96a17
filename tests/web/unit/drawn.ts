// What a template draws, without a browser: its HTML, and the functions that it hands to the page.

import { render } from '@lit-labs/ssr';
import { collectResult } from '@lit-labs/ssr/lib/render-result.js';

/** The HTML, without Lit's own marks, blanks between tags and the drawing of icons. */
export async function drawn(template: unknown): Promise<string> {
  const html = await collectResult(render(template));
  return html
    .replace(/<!--.*?-->|<\?>/gs, '')
    .replace(/<svg.*?<\/svg>/gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?(<[^>]*>) ?/g, '$1')
    .replace(/ >/g, '>');
}

type Handler = (event?: unknown) => void;
interface Template {
  strings: readonly string[];
  values: readonly unknown[];
}

/** Every function behind `attribute` ("@click"), in the order in which they stand. */
export function handlers(part: unknown, attribute: string): Handler[] {
  if (Array.isArray(part)) return part.flatMap(one => handlers(one, attribute));
  const { strings, values } = (part ?? {}) as Partial<Template>;
  if (!strings || !values) return [];
  return values.flatMap((value, index) =>
    typeof value === 'function'
      ? strings[index]!.endsWith(`${attribute}=`)
        ? [value as Handler]
        : []
      : handlers(value, attribute),
  );
}

/** The texts, or one attribute, of every element that `pattern` (the inside of its tag) fits. */
export const attributes = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value]) => value!);
