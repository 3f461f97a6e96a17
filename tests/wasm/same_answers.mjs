// Native and wasm answer byte for byte alike: over every preset, all goldens, and
// 1,000 random valid configurations together with the invalid ones met on the way.
//
//   node tests/wasm/same_answers.mjs [build/native [build/wasm]]
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadEngine } from '../../wasm_bindings/node_loader.mjs';
import { randomConfigurations } from './random_configurations.mjs';

const validConfigurations = 1000;
const seed = 20220510;
const [nativeFolder = 'build/native', wasmFolder = 'build/wasm'] = process.argv.slice(2);
const engine = await loadEngine(wasmFolder);

/** What the native build answers to all requests, in order. */
function nativeAnswers(requests) {
  const input = requests.map(([name, text]) => `${name} ${text}\n`).join('');
  const run = spawnSync(join(nativeFolder, 'answers'), { input, maxBuffer: 2 ** 31 });
  if (run.status !== 0) throw new Error(`the native program ended with ${run.status ?? run.signal}: ${run.stderr}`);
  const answers = [];
  for (let at = 0; at < run.stdout.length; ) {
    const end = run.stdout.indexOf(10, at);
    const length = Number(run.stdout.toString('latin1', at, end));
    answers.push(run.stdout.toString('utf8', end + 1, end + 1 + length));
    at = end + 1 + length + 1;
  }
  if (answers.length !== requests.length) throw new Error(`${requests.length} requests, ${answers.length} answers`);
  return answers;
}

/** Groups of requests, [name, text] each; text has no line breaks. */
function requestGroups() {
  const presets = JSON.parse(engine.presets());
  const groups = {};
  groups['presets and version'] = [['presets', ''], ['version', '']];
  groups['every model preset'] = presets.models.map(({ id }) => ['estimate', `{"model":"${id}","gpu":"h100-sxm"}`]);
  groups['every recipe preset'] = presets.recipes.map(({ id }) => [
    'estimate',
    `{"model":"llama2-7b","gpu":"h100-sxm","recipe":"${id}"}`,
  ]);

  const goldens = 'tests/goldens';
  const files = existsSync(goldens) ? readdirSync(goldens).filter((name) => name.endsWith('.request.json')) : [];
  groups['goldens'] = files.map((name) => [
    'estimate',
    JSON.stringify(JSON.parse(readFileSync(join(goldens, name), 'utf8'))),
  ]);

  const valid = [];
  const invalid = [];
  const links = [];
  for (const configuration of randomConfigurations(presets, seed)) {
    const text = JSON.stringify(configuration);
    const answer = JSON.parse(engine.estimate(text));
    (answer.ok ? valid : invalid).push(['estimate', text]);
    links.push(['write_link', text]);
    if (answer.ok) links.push(['read_link', answer.link], ['estimate', `#${answer.link}`]);
    if (valid.length === validConfigurations) break;
    if (invalid.length > 50 * validConfigurations) throw new Error('hardly any random configuration is valid');
  }
  groups[`${validConfigurations} random valid configurations`] = valid;
  groups['random configurations that are refused'] = invalid;
  groups['links of both'] = links;
  groups['broken texts'] = ['', '{', '[]', 'null', '{"model":"gpt3"}', '{"modle":"gpt3-175b"}', '{"model":1e999}', '#v=1&model=',
    '#v=99&model=llama2-7b', '#v=1&tp=8&tp=4', '{"a":'.repeat(2000), 'x'.repeat(20000), '"\\ud800"']
    .flatMap((text) => [['estimate', text], ['read_link', text], ['write_link', text]]);
  return groups;
}

let passed = 0;
let failed = 0;
for (const [group, requests] of Object.entries(requestGroups())) {
  let different = 0;
  if (requests.length) {
    const natives = nativeAnswers(requests);
    requests.forEach(([name, text], i) => {
      const wasm = engine[name](...(name === 'presets' || name === 'version' ? [] : [text]));
      if (wasm === natives[i]) {
        passed++;
        return;
      }
      failed++;
      if (different++ < 3) {
        const at = [...wasm].findIndex((letter, k) => letter !== natives[i][k]);
        console.log(`DIFFERENT  ${name} ${text.slice(0, 200)}`);
        console.log(`  native  ...${natives[i].slice(Math.max(0, at - 60), at + 60)}`);
        console.log(`  wasm    ...${wasm.slice(Math.max(0, at - 60), at + 60)}`);
      }
    });
  }
  console.log(`${different ? 'FAILED' : 'ok    '}  ${group}: ${requests.length} answers, ${different} different`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
