// The bar as an SVG that stands alone: no style sheet, no font of ours, text as text.
//
// The page offers it for download, and the build draws the pictures of link previews with it.

import type { Result } from '../border.js';
import { deviceSegments, type Segment } from '../components.js';
import { gigabytes, percent, type Units } from '../format.js';
import { fills } from '../styles/tokens.js';

export interface Picture {
  result: Result;
  /** Large: "Llama 2 7B needs 112.6 GiB of 79.2 GiB" */
  title: string;
  /** Below it: "Does not fit, 33.4 GiB missing." */
  subtitle: string;
  /** At the foot: the address. */
  foot: string;
  units: Units;
  dark: boolean;
  width: number;
  height: number;
}

const plain = (text: string) =>
  text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`).replace(/[\p{Cc}]/gu, ' ');

const round = (value: number) => Number(value.toFixed(2));

function bar(segments: Segment[], x: number, y: number, width: number, height: number, total: number, scheme: 0 | 1) {
  let left = x;
  return segments.map(({ name, bytes }) => {
    const own = (bytes / total) * width;
    const gap = own > 3 ? 2 : 0;
    const rectangle = `<rect x="${round(left)}" y="${y}" width="${round(Math.max(own - gap, 0.3))}" height="${height}" fill="${fills[name]![scheme]}"/>`;
    left += own;
    return rectangle;
  });
}

/** Columns of "swatch name figure share", filled from top to bottom. */
function legend(
  segments: Segment[],
  place: { x: number; y: number; width: number; height: number },
  { result, units }: Picture,
  scheme: 0 | 1,
  [ink, muted]: [string, string],
) {
  const columns = segments.length > 6 ? 2 : 1;
  const lines = Math.ceil(segments.length / columns);
  const step = Math.min(44, place.height / Math.max(lines, 1));
  const size = round(Math.min(22, step * 0.6));
  const width = (place.width - (columns - 1) * 48) / columns;
  return segments.map(({ name, label, bytes }, index) => {
    const x = place.x + Math.floor(index / lines) * (width + 48);
    const y = round(place.y + (index % lines) * step + step * 0.62);
    const at = (offset: number, anchor: string, text: string, colour: string) =>
      `<text x="${round(x + offset)}" y="${y}" font-size="${size}" fill="${colour}" text-anchor="${anchor}">${plain(text)}</text>`;
    return `<rect x="${round(x)}" y="${round(y - size * 0.78)}" width="${round(size * 0.84)}" height="${round(size * 0.84)}" rx="3" fill="${fills[name]![scheme]}"/>${at(
      size * 1.35,
      'start',
      label,
      ink,
    )}${at(width - size * 4.6, 'end', gigabytes(bytes, units), ink)}${at(width, 'end', percent(bytes, result.device.expected), muted)}`;
  });
}

export function picture(options: Picture): string {
  const { result, title, subtitle, foot, units, dark, width, height } = options;
  const scheme = dark ? 1 : 0;
  const [background, ink, muted, room, line] = dark
    ? ['#131417', '#ececea', '#a3a6ad', '#24262b', '#ececea']
    : ['#faf9f6', '#1b1c1f', '#5c5e64', '#e9e6de', '#1b1c1f'];
  const segments = deviceSegments(result);
  const { capacity } = result.verdict;
  const total = result.device.expected;
  const scale = Math.max(total, capacity, 1);
  const margin = round(width * 0.053);
  const inner = width - 2 * margin;
  const top = round(height * 0.36);
  const thick = round(height * 0.13);
  const mark = round(margin + (capacity / scale) * inner);
  const titleSize = round(Math.min(54, (1.65 * inner) / Math.max(title.length, 20)));
  const capacityText = `${gigabytes(capacity, units)} usable`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${plain(`${title}. ${subtitle}`)}" font-family="system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif">
<rect width="${width}" height="${height}" fill="${background}"/>
<text x="${margin}" y="${round(height * 0.15)}" font-size="${titleSize}" font-weight="600" fill="${ink}">${plain(title)}</text>
<text x="${margin}" y="${round(height * 0.25)}" font-size="${round(height * 0.045)}" fill="${muted}">${plain(subtitle)}</text>
<rect x="${margin}" y="${top}" width="${round(((capacity || total) / scale) * inner)}" height="${thick}" fill="${room}"/>
${bar(segments, margin, top, inner, thick, scale, scheme).join('\n')}
${
  capacity > 0
    ? `<rect x="${round(mark - 1.5)}" y="${round(top - 8)}" width="3" height="${round(thick + 16)}" fill="${line}" stroke="${background}" stroke-width="2" paint-order="stroke"/>
<text x="${round(Math.min(mark, width - margin))}" y="${round(top + thick + 34)}" font-size="20" fill="${muted}" text-anchor="${capacity / scale > 0.5 ? 'end' : 'start'}">${plain(capacityText)}</text>`
    : ''
}
${legend(segments, { x: margin, y: height * 0.58, width: inner, height: height * 0.3 }, options, scheme, [ink, muted]).join('\n')}
<text x="${margin}" y="${round(height * 0.95)}" font-size="20" fill="${muted}">${plain(foot)}</text>
</svg>
`;
}

/** Pixels for places that take no SVG; twice as many as CSS pixels. */
export async function png(svg: string, width: number, height: number): Promise<Blob> {
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob(pixels => (pixels ? resolve(pixels) : reject(new Error('no picture'))), 'image/png');
  });
}
