// The answer as texts to take away: a Markdown table, CSV, JSON, the lines that embed it.

import type { GoodAnswer } from '../border.js';
import { deviceSegments, phaseLabels } from '../components.js';
import { exactBytes, gigabytes, grouped, percent, type Units } from '../format.js';

export interface Subject {
  /** "Llama 2 7B" */
  name: string;
  /** The sentence of the headline. */
  sentence: string;
  /** Address of the calculator with this configuration. */
  address: string;
  /** Address of the element's script, and of the page for frames. */
  script: string;
  frame: string;
  link: string;
  units: Units;
  version: string;
}

const cell = (text: string) => text.replaceAll('|', '\\|');

export function markdown({ result }: GoodAnswer, { sentence, address, units, version }: Subject): string {
  const { device, reserved, allocated } = result;
  const lines = deviceSegments(result).map(
    ({ label, bytes }) =>
      `| ${cell(label)} | ${gigabytes(bytes, units)} | ${grouped(bytes)} | ${percent(bytes, device.expected)} |`,
  );
  return [
    sentence,
    '',
    `| At the peak (${phaseLabels[result.peak_phase].toLowerCase()}) | Memory | Bytes | Share |`,
    '| --- | ---: | ---: | ---: |',
    ...lines,
    `| **On the device** | **${gigabytes(device.expected, units)}** | ${grouped(device.expected)} | |`,
    `| of it reserved by PyTorch | ${gigabytes(reserved.expected, units)} | ${grouped(reserved.expected)} | |`,
    `| of it allocated | ${gigabytes(allocated, units)} | ${grouped(allocated)} | |`,
    '',
    `[Computed by trainmem ${version}](${address})`,
    '',
  ].join('\n');
}

/** One line of CSV; fields are quoted where RFC 4180 asks for it, and never begin a formula in a spreadsheet. */
function line(fields: (string | number)[]): string {
  return fields
    .map(field => {
      const text = typeof field === 'string' && /^[=+\-@]/.test(field) ? `'${field}` : String(field);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(',');
}

export function csv({ result }: GoodAnswer): string {
  const head = [
    'component',
    'name',
    'shape',
    'dtype',
    'elements',
    'element_bytes',
    'copies',
    'bytes',
    'kind',
    'formula',
  ];
  const rows = result.rows.map(row =>
    line([
      row.component,
      row.name,
      row.shape,
      row.dtype,
      row.elements,
      row.element_bytes,
      row.copies,
      row.bytes,
      row.kind,
      row.formula,
    ]),
  );
  return `${[head.join(','), ...rows].join('\r\n')}\r\n`;
}

export function json(good: GoodAnswer): string {
  return `${JSON.stringify({ link: good.link, config: good.config, result: good.result }, null, 2)}\n`;
}

const attribute = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

export const embedViews = ['bar', 'compact', 'full'] as const;
export type EmbedView = (typeof embedViews)[number];

/** Until the frame says how high it is. */
const frameHeights: Record<EmbedView, number> = { bar: 420, compact: 900, full: 1600 };

export function embedElement({ name, script, address, link }: Subject, view: EmbedView = 'compact'): string {
  return `<script type="module" src="${attribute(script)}"></script>
<div><trainmem-calculator view="${view}" config="${attribute(link)}"><a href="${attribute(address)}">${attribute(`GPU memory of ${name}`)}</a></trainmem-calculator></div>
`;
}

export function embedFrame({ name, frame, link }: Subject, view: EmbedView = 'bar'): string {
  return `<iframe title="${attribute(`GPU memory of ${name}`)}" loading="lazy" style="width:100%;height:${frameHeights[view]}px;border:0"
  sandbox="allow-scripts allow-popups" src="${attribute(`${frame}?view=${view}#${link}`)}"></iframe>
`;
}

/** For the alternative text of pictures. */
export function description(good: GoodAnswer, { sentence, units }: Subject): string {
  const parts = deviceSegments(good.result).map(({ label, bytes }) => `${label} ${gigabytes(bytes, units)}`);
  return `${sentence} ${parts.join(', ')}. Exactly ${exactBytes(good.result.device.expected)} expected on the device.`;
}
