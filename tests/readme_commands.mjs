// The README's examples run as written. In every ```console block a line that begins with "$ " is a command and the
// lines up to the next one are its exact output; "..." on a line of its own stands for any lines. What stands between
// "<!-- output of COMMAND -->" and "<!-- end -->" is that command's output; --write puts it there.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

// These two are the whole installation and the whole test run; they are tested by being run.
const notRunHere = /^(?:git clone|cd |\.\/site\/serve|\.\/tests\/run)/;

/** [{command, expected}] of all console blocks. */
function examples(text) {
  const found = [];
  for (const [, block] of text.matchAll(/^```console\n([\s\S]*?)^```$/gm)) {
    for (const line of block.split('\n')) {
      if (line.startsWith('$ ')) found.push({ command: line.slice(2), expected: [] });
      else if (found.length) found.at(-1).expected.push(line);
    }
  }
  return found.map(({ command, expected }) => ({ command, expected: expected.join('\n').trimEnd() }));
}

/** Is the output as expected, "..." lines standing for anything? */
function matches(output, expected) {
  const pattern = expected
    .split(/^\.\.\.$/m)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[\\s\\S]*');
  return new RegExp(`^${pattern}$`).test(output);
}

let passed = 0;
let failed = 0;
for (const { command, expected } of examples(readFileSync('README.md', 'utf8'))) {
  if (notRunHere.test(command)) continue;
  const run = spawnSync('bash', ['-c', command], { encoding: 'utf8', input: '' });
  const output = `${run.stdout}${run.stderr}`.trimEnd();
  if (expected === '' ? run.status === 0 : matches(output, expected)) {
    passed++;
    console.log(`ok      ${command}`);
  } else {
    failed++;
    console.log(`FAILED  ${command} (exit status ${run.status})\n--- it prints\n${output}\n--- the README says\n${expected}`);
  }
}
const marked = /(<!-- output of (.+) -->\n)([\s\S]*?)(<!-- end -->)/g;
const fresh = readFileSync('README.md', 'utf8').replace(marked, (whole, open, command, text, close) => {
  const output = spawnSync('bash', ['-c', command], { encoding: 'utf8', input: '' }).stdout;
  const same = text.trim() === output.trim();
  if (same) passed++;
  else failed++;
  console.log(`${same ? 'ok    ' : 'FAILED'}  what the README holds of ${command}`);
  return `${open}\n${output.trim()}\n\n${close}`;
});
if (process.argv.includes('--write')) writeFileSync('README.md', fresh);
else if (failed) console.log('node tests/readme_commands.mjs --write brings outputs up to date');

if (passed + failed === 0) {
  failed++;
  console.log('FAILED  README.md has no ```console block with a command to run');
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
