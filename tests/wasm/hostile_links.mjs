// Links as someone with bad intent would write them, against the engine that the page loads: whatever stands in a
// link, the engine answers, soon, with a link that reads as the same configuration and with numbers that are finite.
//
//   node tests/wasm/hostile_links.mjs [--count 10000] [--seed 1] [--folder build/wasm]
//
// The same seed gives the same links.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';
import { generator } from './random_configurations.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    folder: { type: 'string' },
  },
});
const engine = await loadEngine(values.folder);
const presets = JSON.parse(engine.presets());
const random = generator(Number(values.seed));
const pick = (list) => list[Math.floor(random() * list.length)];

const published = readFileSync(new URL('../goldens/links.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !/^[;=>]/.test(line));
const ofRecipes = presets.recipes.map(({ id, model, gpu }) => `v=1&model=${model}&gpu=${gpu}&recipe=${id}&end`);
const seeds = [...published, ...ofRecipes];

const words = [
  '__proto__', 'constructor', 'toString', 'hasOwnProperty', '<img src=x onerror=alert(1)>', '"><script>',
  'javascript:alert(1)', 'NaN', 'Infinity', '-Infinity', '1e308', '1e400', '1e-320', '-1', '-0', '0x10', '1e', '+1', '..',
  '9007199254740993', '9223372036854775807', '18446744073709551616', '2147483648', '9'.repeat(400), '4k', '2^9999',
  '%', '%0', '%00', '%zz', '%F0%9F', '%C0%80', '%ED%A0%80', '\u0000', '\ud800', '\uffff', '\u202e', '\u{1f600}', '\n', ' ',
  'a.', 'b.', 'a.b.', '&', '=', '&&', 'end', '&end', 'v=1', 'v=2', 'v=99999999999', '#', '?', '+', 'null', '{}', '[]',
];
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789&=.%-_+#?~';

function value(field) {
  const of = [
    () => pick(words),
    () => pick(presets.models).id,
    () => pick(presets.recipes).id,
    () => String(field.minimum ?? 0),
    () => String(field.maximum ?? 1e9),
    () => String((field.maximum ?? 1e9) + 1),
    () => String(2 ** Math.floor(random() * 40)),
    () => String(random() * 10 ** Math.floor(random() * 20 - 5)),
  ];
  return field.options && random() < 0.4 ? pick(field.options) : pick(of)();
}

/** One change: letters lost, replaced or put in, parts lost, doubled, prefixed or given, the rest of another link. */
function changed(link) {
  const at = Math.floor(random() * (link.length + 1));
  const parts = link.split('&');
  const place = Math.floor(random() * parts.length);
  const field = pick(presets.fields);
  const changes = [
    () => link.slice(0, at) + link.slice(at + 1 + Math.floor(random() * 8)),
    () => link.slice(0, at) + pick(letters) + link.slice(at + 1),
    () => link.slice(0, at) + pick(words) + link.slice(at),
    () => link.slice(0, at),
    () => link.slice(0, at) + pick(seeds).slice(Math.floor(random() * 40)),
    () => parts.toSpliced(place, 1).join('&'),
    () => parts.toSpliced(place, 0, pick(parts)).join('&'),
    () => parts.map((part) => (random() < 0.5 ? pick(['a.', 'b.']) + part : part)).join('&'),
    () => parts.toSpliced(Math.max(1, parts.length - 1), 0, `${field.key}=${value(field)}`).join('&'),
    () => parts.with(place, `${parts[place].split('=')[0]}=${value(field)}`).join('&'),
  ];
  return pick(changes)();
}

/** Texts as long as a link may be, each of the kind that costs some step of the reader most. */
const long = [
  '&', 'a&', '%zz&', 'a.&', 'model=foo&', '%41', '?', '#',
].map((text) => text.repeat(8192).slice(0, 8192));
const numbered = (count, write) => Array.from({ length: count }, (_, index) => write(index)).join('&').slice(0, 8192);
long.push(
  numbered(500, (index) => `sequence${index}`),
  numbered(500, (index) => `a.micro${index}=1`),
  numbered(500, (index) => `${presets.fields[index % presets.fields.length].key}x${index}=1`),
  numbered(500, (index) => `${presets.fields[index % presets.fields.length].key}=z${index}`),
  `v=1&model=${'llama'.repeat(1600)}&end`,
  `v=1&${'k'.repeat(8000)}=1&end`,
);

let passed = 0;
const failures = [];
const seen = new Set();

/** The rule holds, or the link that breaks it is kept. */
function holds(rule, link, yes) {
  if (yes) return;
  failures.push(`${rule}: ${JSON.stringify(link).slice(0, 400)}`);
}

/** Milliseconds of the processor that a second call takes at least: the first may compile, others may collect. */
function time(call) {
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3 && least > 50; turn++) {
    const start = process.cpuUsage().user;
    call();
    least = Math.min(least, (process.cpuUsage().user - start) / 1000);
  }
  return least;
}

function everyNumber(tree, check) {
  if (typeof tree === 'number') check(tree);
  else if (tree === null) check(Number.NaN); // a number that JSON has no words for
  else if (typeof tree === 'object') for (const one of Object.values(tree)) everyNumber(one, check);
}

function answers(link) {
  let text = '';
  try {
    holds('read within 50 ms', link, time(() => (text = engine.read_link(link))) <= 50);
    const read = JSON.parse(text);
    holds('nothing failed inside', link, !text.includes('"code":"internal"'));
    holds('at most forty problems are listed', link, (read.issues?.length ?? 0) <= 41);
    const again = JSON.parse(engine.read_link(read.link));
    holds('what was read is canonical', link, again.link === read.link);
    return read;
  } catch (error) {
    failures.push(`the engine answers: ${JSON.stringify(link).slice(0, 400)}: ${error}`);
    return undefined;
  }
}

function estimates(config, link) {
  const answer = JSON.parse(engine.estimate(JSON.stringify(config)));
  if (!answer.ok) return;
  everyNumber(answer.result, (number) => holds('finite', link, Number.isFinite(number)));
  const { allocated, reserved, device, components } = answer.result;
  everyNumber([allocated, reserved, device, components], (bytes) => holds('bytes', link, bytes >= 0 && bytes % 1 === 0));
}

/** One thing that was looked at: it passed, unless something of it did not hold. */
function counted(look) {
  const before = failures.length;
  look();
  if (failures.length === before) passed++;
}

for (const link of long) counted(() => answers(link));
for (let turn = 0; turn < Number(values.count) && failures.length < 20; turn++) {
  let link = pick(seeds);
  for (let change = 0; change < 1 + turn % 5; change++) link = changed(link);
  counted(() => {
    const read = answers(link);
    if (!read || turn % 50 !== 0 || seen.has(read.link)) return;
    seen.add(read.link);
    estimates(read.config, read.link);
  });
}

for (const failure of failures) console.log(failure);
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length > 0 ? 1 : 0;
