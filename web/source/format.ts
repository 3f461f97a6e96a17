// Numbers as the page shows them. The only file that rounds, and the only one that knows units.

export const unitNames = ['GiB', 'GB', 'bytes'] as const;
export type Units = (typeof unitNames)[number];

export const isUnits = (text: unknown): text is Units => unitNames.includes(text as Units);

export const unitSizes: Record<Units, number> = { GiB: 2 ** 30, GB: 1e9, bytes: 1 };

/** Where every byte would take too much room, or stands beside already. */
export const inShort = (units: Units): Units => (units === 'bytes' ? 'GiB' : units);

/** What a size is told in, the largest first. Nothing above GiB and GB: what stands side by side is of one scale. */
export const scales: Record<Units, readonly [number, string][]> = {
  GiB: [
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
    [1, 'bytes'],
  ],
  GB: [
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
    [1, 'bytes'],
  ],
  bytes: [[1, 'bytes']],
};

// Written out: the browser's own formatter takes longer to come than all else that is drawn first.
const grouping = (text: string) => text.replace(/(?<!\..*)\B(?=(\d{3})+(\.|$))/g, ',');
const fixed = (value: number, digits: number) => grouping(value.toFixed(digits));

/** A whole number with its groups of three: "85,899,345,920". */
export const grouped = (value: number, fraction = 3): string => grouping(`${+value.toFixed(fraction)}`);

function rounded(value: number, fraction?: number): string {
  const magnitude = Math.abs(value);
  const digits = fraction ?? (magnitude >= 1000 ? 0 : magnitude >= 10 ? 1 : 2);
  return fixed(value, digits).replace('-', '\u2212');
}

/** Bytes in the largest unit that leaves about one whole: "112.6 GiB", "2,620 GB", "512 bytes". */
export function bytes(value: number, units: Units): string {
  const steps = scales[units];
  const [size, name] = steps.find(([step]) => Math.abs(value) >= 0.95 * step) ?? steps[steps.length - 1]!;
  return size === 1 ? `${rounded(value, 0)} ${value === 1 ? 'byte' : 'bytes'}` : `${rounded(value / size)} ${name}`;
}

/** Bytes in GiB or GB, so that figures stand under each other; what is less than one in a smaller unit. */
export function gigabytes(value: number, units: Units): string {
  if (units === 'bytes') return exactBytes(value).replace('-', '\u2212');
  const size = unitSizes[units];
  const share = value / size;
  if (value !== 0 && Math.abs(share) < 0.95) return bytes(value, units);
  return `${rounded(share, Math.abs(share) >= 1000 ? 0 : 1)} ${units}`;
}

/** What a GPU is sold as and what a program sees of it are told in different units: "80.0 GiB (85.9 GB)". */
export function allUnits(value: number, units: Units): string {
  const others = unitNames.filter(one => one !== units && one !== 'bytes').map(one => gigabytes(value, one));
  return `${gigabytes(value, units)} (${others.join(', ')})`;
}

/** The exact count, for titles and details: "85,899,345,920 bytes". */
export function exactBytes(value: number): string {
  return `${grouped(value)} ${value === 1 ? 'byte' : 'bytes'}`;
}

/** "6.74 B", "13.0 B", "124 M", "512". */
export function count(value: number): string {
  for (const [size, name] of [
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
  ] as const) {
    if (value >= 0.9995 * size) return `${threeDigits(value / size)} ${name}`;
  }
  return grouped(value);
}

/** "34 %", "4.0 %", "0.4 %", "< 0.1 %". */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return '0 %';
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.1) return '< 0.1 %';
  const digits = share > 0 && share < 9.95 ? 1 : 0;
  return `${fixed(share, digits)} %`;
}

/** "one_forward_one_backward" as words: "one forward one backward". */
export function words(name: string): string {
  return name.replaceAll('_', ' ').replace(/\bmlp\b/g, 'MLP');
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${grouped(value)} ${value === 1 ? one : many}`;
}

export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** First letter large, a full stop at the end: the engine's reasons begin small. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return '';
  return `${capitalized(trimmed)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}

/** A formula in plain characters with the multiplication sign that people read. */
export function formula(text: string): string {
  return text.replaceAll(' * ', ' \u00d7 ');
}

/** "365 ms", "2.11 s", "0.63 ms": for times from microseconds to hours. */
export function duration(seconds: number): string {
  for (const [size, name] of [
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
    [1e-3, 'ms'],
  ] as const) {
    if (seconds >= size) return `${threeDigits(seconds / size)} ${name}`;
  }
  return seconds > 0 ? `${threeDigits(seconds * 1e6)} \u00b5s` : '0 s';
}

const threeDigits = (value: number) => (value >= 100 ? significant(value) : value.toPrecision(3));

/** So many digits that count, whole numbers in full: "3.35", "48.6", "11,219". */
export function significant(value: number, digits = 3): string {
  const whole = Math.abs(value) >= 10 ** (digits - 1);
  return whole ? fixed(value, 0) : grouping(`${+value.toPrecision(digits)}`);
}

/** What an answer or a preset holds of any type, as a number or as text. */
export const asNumber = (value: unknown) => (typeof value === 'number' ? value : 0);
export const asText = (value: unknown) => (typeof value === 'string' ? value : '');
