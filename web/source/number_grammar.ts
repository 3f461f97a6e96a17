// What a number field understands: 175B, 4k, 2^12, 1e9, 1,024, 80 GiB, 8*1024, (3+1)/2.
//
//   sum     = product { ("+" | "-") product }
//   product = power { ("*" | "×" | "/") power }
//   power   = sign [ ("^" | "**") power ]
//   sign    = [ "-" | "+" ] atom
//   atom    = "(" sum ")" | number [ suffix ]
//
// K, M, B, T are decimal, except in fields that count tokens, where k and M are binary (4k is 4096, as in
// "4k context"). Ki, Mi, Gi, Ti are always binary, a trailing B after them means bytes. Where the unit beside the field
// is GiB or GB, a number without a suffix is so many of those.

import { capitalized, grouped, type Units, unitSizes } from './format.js';

export type Parsed = { ok: true; value: number } | { ok: false; message: string };

export interface NumberRules {
  integer?: boolean;
  minimum?: number | undefined;
  maximum?: number | undefined;
  unit?: string | undefined;
  /** What stands beside a field of bytes. */
  shown?: Units | undefined;
}

const longest = 64;
/** Digits and signs of a Chinese or Japanese keyboard may be as wide as its letters. */
const halfWide = (wide: string) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0);
const decimal: Record<string, number> = { k: 1e3, m: 1e6, g: 1e9, b: 1e9, bn: 1e9, t: 1e12 };
const binary: Record<string, number> = { ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30, ti: 2 ** 40 };

function suffixFactor(suffix: string, unit: string | undefined): number | undefined {
  const word = suffix.toLowerCase();
  if (unit === 'bytes') {
    const bytes = word.endsWith('b') ? word.slice(0, -1) : word;
    if (bytes === '') return 1;
    return binary[bytes] ?? (bytes === 'b' ? undefined : decimal[bytes]);
  }
  if (unit === 'tokens' && (word === 'k' || word === 'm')) return binary[`${word}i`];
  if (word === unit?.toLowerCase()) return 1;
  return binary[word] ?? decimal[word];
}

class Reader {
  private at = 0;
  suffixed = false;
  constructor(
    private readonly text: string,
    private readonly unit: string | undefined,
  ) {}

  read(): number {
    const value = this.sum();
    this.blanks();
    if (this.at < this.text.length) throw new Error(`"${this.text.slice(this.at)}" is not understood`);
    return value;
  }

  private blanks(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++;
  }

  private take(...tokens: string[]): string | undefined {
    this.blanks();
    const found = tokens.find(token => this.text.startsWith(token, this.at));
    if (found !== undefined) this.at += found.length;
    return found;
  }

  private sum(): number {
    let value = this.product();
    for (let sign = this.take('+', '-', '−'); sign; sign = this.take('+', '-', '−')) {
      const right = this.product();
      value = sign === '+' ? value + right : value - right;
    }
    return value;
  }

  private product(): number {
    let value = this.power();
    for (;;) {
      if (this.text.startsWith('**', this.at)) return value;
      const sign = this.take('*', '×', '/');
      if (!sign) return value;
      const right = this.power();
      value = sign === '/' ? value / right : value * right;
    }
  }

  private power(): number {
    const base = this.sign();
    return this.take('^', '**') ? base ** this.power() : base;
  }

  private sign(): number {
    const sign = this.take('-', '−', '+');
    return sign === '-' || sign === '−' ? -this.atom() : this.atom();
  }

  private atom(): number {
    if (this.take('(')) {
      const value = this.sum();
      if (!this.take(')')) throw new Error('a closing bracket is missing');
      return value;
    }
    this.blanks();
    const rest = this.text.slice(this.at);
    const digits = /^(\d{1,3}(?:[,_'\u2009\u202f\u00a0 ]\d{3})+(?!\d)|\d+)?(\.\d+)?(e[+-]?\d+)?/i.exec(rest)![0];
    if (!/\d/.test(digits)) {
      throw new Error(rest === '' ? 'a number is missing' : `"${rest}" is not a number`);
    }
    this.at += digits.length;
    const value = Number(digits.replace(/[,_'\u2009\u202f\u00a0 ]/g, ''));
    const suffix = /^\s*([a-z]+)/i.exec(this.text.slice(this.at));
    if (!suffix) return value;
    const factor = suffixFactor(suffix[1]!, this.unit);
    if (factor === undefined) throw new Error(`"${suffix[1]}" is not a suffix: k, M, B, T, Ki, Mi and Gi are`);
    this.at += suffix[0].length;
    this.suffixed = true;
    return value * factor;
  }
}

/** Reads what a person typed. Never throws. */
export function parseNumber(text: string, rules: NumberRules = {}): Parsed {
  const fail = (message: string): Parsed => ({ ok: false, message });
  if (text.trim() === '') return fail('A number is missing.');
  if (text.length > longest) return fail('This is too long for a number.');
  let value: number;
  try {
    const reader = new Reader(text.replace(/[！-～]/g, halfWide), rules.unit);
    value = reader.read();
    if (rules.shown && rules.shown !== 'bytes')
      value = Math.round(reader.suffixed ? value : value * unitSizes[rules.shown]);
  } catch (error) {
    const message = (error as Error).message;
    return fail(`${capitalized(message)}.`);
  }
  if (!Number.isFinite(value)) return fail('This is not a finite number.');
  if (rules.integer && !Number.isInteger(value)) {
    const near = Math.abs(value) < 1e15 ? `: ${Math.floor(value)} and ${Math.ceil(value)} are near` : '';
    return fail(`This must be a whole number${near}.`);
  }
  if (rules.integer && !Number.isSafeInteger(value)) return fail('This is too large.');
  const of = rules.shown ? ` ${rules.shown}` : '';
  if (rules.minimum !== undefined && value < rules.minimum)
    return fail(`The smallest value is ${formatNumber(rules.minimum, rules.shown)}${of}.`);
  if (rules.maximum !== undefined && value > rules.maximum)
    return fail(`The largest value is ${formatNumber(rules.maximum, rules.shown)}${of}.`);
  return { ok: true, value: value === 0 ? 0 : value };
}

/**
 * A value as a field shows it when nobody is typing; parseNumber reads it back to the same value, or to within five
 * digits of a GiB or GB.
 */
export function formatNumber(value: number, units: Units = 'bytes'): string {
  if (!Number.isFinite(value)) return '';
  if (units !== 'bytes') return grouped(value / unitSizes[units], 5);
  if (Number.isInteger(value)) return grouped(value);
  return String(value);
}
