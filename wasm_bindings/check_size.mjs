// Prints the sizes of the engine and of a first visit to the page, and compares them with size_budget.json.
//
//   node wasm_bindings/check_size.mjs [build/wasm [build/site]]
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

const [engineFolder = 'build/wasm', siteFolder = 'build/site'] = process.argv.slice(2);
const budget = JSON.parse(readFileSync(new URL('./size_budget.json', import.meta.url)));
const gzipSize = (bytes) => gzipSync(bytes, { level: 9 }).length;
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`.padStart(10);
let passed = 0;
let failed = 0;

/** One line: what, how large, the limit, and whether it holds. */
function check(what, size, limit, print = kilobytes) {
  const holds = size <= limit;
  holds ? passed++ : failed++;
  console.log(`${holds ? 'ok  ' : 'OVER'}  ${what.padEnd(36)} ${print(size)} of ${print(limit)}`);
}

for (const [name, limits] of Object.entries(budget.engine)) {
  const bytes = readFileSync(join(engineFolder, name));
  check(name, bytes.length, limits.raw);
  check(`${name}, gzip`, gzipSize(bytes), limits.gzip);
}

/** What the page fetches by itself once its answer is on the screen (web/source/later_parts.ts). */
const comesByItself = /^parts-[\w-]+\.js$/;

/** Every file that the page loads until a reader gives a sign: what it names, and what those import in turn. */
function filesOfFirstVisit(page) {
  const files = new Map();
  const visit = (file) => {
    if (files.has(file) || !existsSync(file)) return;
    const bytes = readFileSync(file);
    files.set(file, bytes);
    const folder = join(file, '..');
    const text = bytes.toString('latin1');
    if (file.endsWith('.html')) {
      const loading = /<(?:script|link|trainmem-calculator)\b[^>]*?\b(src|href|recorded)="([^"]+)"[^>]*>/g;
      for (const [tag, attribute, address] of text.matchAll(loading)) {
        const loads = attribute !== 'href' || /rel="(?:stylesheet|modulepreload|preload|icon)"/.test(tag);
        if (loads && !/^(?:[a-z]+:|#)/.test(address)) visit(join(folder, address));
      }
    } else if (file.endsWith('.js')) {
      for (const [, address] of text.matchAll(/(?:from|import)\s*["']([^"']+\.js)["']/g)) visit(join(folder, address));
    }
  };
  visit(page);
  const assets = join(page, '../assets');
  for (const name of readdirSync(assets)) if (comesByItself.test(name)) visit(join(assets, name));
  return files;
}

const page = join(siteFolder, 'index.html');
if (existsSync(page)) {
  const files = filesOfFirstVisit(page);
  let total = 0;
  for (const [file, bytes] of files) {
    total += gzipSize(bytes);
    console.log(`      ${relative(siteFolder, file).padEnd(36)} ${kilobytes(gzipSize(bytes))} gzip`);
  }
  const beforeTheAnswer = [...files].filter(([file]) => file.endsWith('.js') && !comesByItself.test(basename(file)));
  check('script before the answer, gzip', beforeTheAnswer.reduce((sum, [, bytes]) => sum + gzipSize(bytes), 0),
    budget.first_visit.script_before_the_answer);
  const isIcon = (file) => /icon/.test(file);
  check('first visit, gzip', total, budget.first_visit.gzip);
  check('first visit, requests', [...files.keys()].filter((file) => !isIcon(file)).length,
    budget.first_visit.requests, (count) => String(count).padStart(10));
  for (const kind of [/trainmem-calculator\.js$/, /recorded-[\w-]+\.json$/, comesByItself]) {
    if ([...files.keys()].some((file) => kind.test(basename(file)))) continue;
    failed++;
    console.log(`OVER  no ${kind} among them: the files of a first visit are not all found`);
  }
} else {
  failed++;
  console.log(`OVER  ${page} is not built`);
}

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
