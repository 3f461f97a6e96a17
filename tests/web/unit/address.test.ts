// The address of the page: what it was opened with, how edits and choices are written, and who else may change it.

import { Address } from '@source/url.js';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

type Listener = () => void;
let listeners: Map<string, Set<Listener>>;
let written: string[];
let bar: { pathname: string; search: string; hash: string };

/** The window goes to another fragment of the page by itself, as with Back. */
function goes(hash: string, event = 'popstate'): void {
  bar.hash = hash;
  for (const listener of listeners.get(event) ?? []) listener();
}

beforeEach(() => {
  vi.useFakeTimers();
  listeners = new Map();
  written = [];
  bar = { pathname: '/trainmem/', search: '', hash: '#v=1&model=a&end' };
  const write = (how: string) => (_state: unknown, _title: string, path: string) => {
    written.push(`${how} ${path}`);
    bar.hash = path.slice(path.indexOf('#'));
    bar.search = '';
  };
  vi.stubGlobal('location', bar);
  vi.stubGlobal('history', { pushState: write('push'), replaceState: write('replace') });
  vi.stubGlobal('addEventListener', (name: string, listener: Listener) =>
    listeners.set(name, (listeners.get(name) ?? new Set()).add(listener)),
  );
  vi.stubGlobal('removeEventListener', (name: string, listener: Listener) => listeners.get(name)?.delete(listener));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('what the page was opened with', () => {
  test('is the fragment, else a query that names a model, else nothing', () => {
    expect(Address.opened()).toBe('v=1&model=a&end');
    bar.search = '?v=1&model=b&end';
    expect(Address.opened()).toBe('v=1&model=a&end');
    bar.hash = '';
    expect(Address.opened()).toBe('v=1&model=b&end');
    bar.search = '?model=c';
    expect(Address.opened()).toBe('model=c');
    bar.search = '?utm_source=mail&supermodel=1';
    expect(Address.opened()).toBe('');
  });
});

describe('an edit', () => {
  test('is written after a pause, once for all edits in it, and makes no entry', () => {
    const address = new Address(() => expect.fail('nobody else changed it'));
    address.replace('one');
    vi.advanceTimersByTime(149);
    address.replace('two');
    expect(written).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(written).toEqual(['replace /trainmem/#two']);
    vi.advanceTimersByTime(1000);
    address.replace('three');
    vi.advanceTimersByTime(150);
    expect(written).toEqual(['replace /trainmem/#two', 'replace /trainmem/#three']);
  });

  test('that says what stands there is not written, unless a query must go', () => {
    const address = new Address(() => undefined);
    address.replace('v=1&model=a&end');
    address.flush();
    expect(written).toEqual([]);
    bar.search = '?model=a';
    address.replace('v=1&model=a&end');
    address.flush();
    expect(written).toEqual(['replace /trainmem/#v=1&model=a&end']);
  });

  test('is written at once where the page is left or the address is closed', () => {
    const address = new Address(() => undefined);
    address.replace('one');
    for (const listener of listeners.get('pagehide') ?? []) listener();
    expect(written).toEqual(['replace /trainmem/#one']);
    address.replace('two');
    address.close();
    expect(written.at(-1)).toBe('replace /trainmem/#two');
    expect([...listeners.values()].every(set => set.size === 0)).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(written.length).toBe(2);
  });
});

describe('a choice', () => {
  test('makes an entry, after the edit before it; one that changes nothing makes none', () => {
    const address = new Address(() => undefined);
    address.replace('edited');
    address.push('chosen');
    expect(written).toEqual(['replace /trainmem/#edited', 'push /trainmem/#chosen']);
    address.push('chosen');
    vi.advanceTimersByTime(1000);
    expect(written.length).toBe(2);
  });
});

describe('another fragment', () => {
  test.each(['popstate', 'hashchange'])('is told once, by %s, and drops the edit that waits', event => {
    const told: string[] = [];
    const address = new Address(fragment => told.push(fragment));
    address.replace('typed');
    goes('#elsewhere', event);
    goes('#elsewhere', event);
    expect(told).toEqual(['elsewhere']);
    vi.advanceTimersByTime(1000);
    expect(written).toEqual([]);
    address.replace('later');
    vi.advanceTimersByTime(150);
    expect(written).toEqual(['replace /trainmem/#later']);
  });

  test('that the page wrote itself is no news', () => {
    const address = new Address(() => expect.fail('its own'));
    address.push('own');
    goes('#own', 'hashchange');
  });
});
