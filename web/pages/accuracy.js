// Writes the tables of site/accuracy.html at build time, from what build/native/trainmem-accuracy --json says.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { capitalized } from '../source/format.ts';
import { optionLabel } from '../source/option_labels.ts';
import { plain } from './fill.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = process.env.TRAINMEM_ACCURACY ?? `${root}build/native/trainmem-accuracy`;
const worstShown = 6;

const gib = bytes => (bytes / 2 ** 30).toFixed(2);

/** +1.23 %; what rounds to nothing is not nothing. */
function percent(share) {
  if (share === 0) return '0';
  const text = (100 * share).toFixed(2);
  if (Number(text) === 0) return share > 0 ? '&lt; 0.01 %' : '&gt; −0.01 %';
  return `${share > 0 ? '+' : ''}${text.replace('-', '−')} %`;
}

/** A table whose first columns, so many, are words. */
function table(head, rows, words = 1) {
  const classes = head.map((name, i) =>
    i >= words ? ' class="number"' : name === 'framework' ? ' class="framework"' : '',
  );
  const names = head.map((name, i) => `<th scope="col"${classes[i]}>${capitalized(name)}</th>`);
  const lines = rows.map(cells => `<tr>${cells.map((cell, i) => `<td${classes[i]}>${cell}</td>`).join('')}</tr>`);
  return `<div class="wide numbers" tabindex="0" role="group" aria-label="${plain(capitalized(head[0]))}"><table><thead><tr>${names.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

const errorHead = ['cases', 'median', '90 % within', 'furthest over', 'furthest under'];
const errors = group => [
  group.cases.toLocaleString('en'),
  percent(group.median).replace('+', ''),
  percent(group.ninetieth).replace('+', ''),
  percent(group.furthest_over),
  percent(group.furthest_under),
];

const frameworkName = name => optionLabel({ path: '/recipe/framework' }, name);

const groupTable = (first, groups) =>
  table(
    [first, 'framework', 'counter', ...errorHead],
    groups
      .filter(group => group.cases > 0)
      .map(group => [plain(group.name), frameworkName(group.framework), group.counter, ...errors(group)]),
    3,
  );

const bandTable = bands =>
  table(
    ['kind of run', 'readings', 'computed too low by up to', 'computed too high by up to'],
    bands.map(band => [
      band.kind,
      band.readings.toLocaleString('en'),
      percent(-band.under).replace('+', ''),
      percent(band.over).replace('+', ''),
    ]),
  );

function runTable(cases) {
  return table(
    ['run', 'counter', 'measured, GiB', 'computed, GiB', 'error'],
    cases.flatMap(one =>
      one.readings.map((reading, i) => [
        i > 0
          ? ''
          : plain(one.id) +
            (one.confidence === 'high'
              ? ''
              : ` <small>${one.confidence}${one.uncertain_because ? `: ${plain(one.uncertain_because)}` : ''}</small>`),
        reading.counter,
        gib(reading.measured),
        gib(reading.predicted),
        percent(reading.error),
      ]),
    ),
    2,
  );
}

function worst(cases) {
  const scored = cases
    .filter(one => !['uncertain', 'predicted'].includes(one.confidence) && one.readings?.length)
    .map(one => ({ ...one, readings: [one.readings[0]] }))
    .sort((a, b) => Math.abs(b.readings[0].error) - Math.abs(a.readings[0].error));
  return runTable(scored.slice(0, worstShown));
}

function worstSteps(cases) {
  const readings = cases.flatMap(one =>
    Object.entries(one.reserved ?? {}).map(([segments, { recorded, predicted, error }]) => ({
      id: one.id,
      segments,
      recorded,
      predicted,
      error,
    })),
  );
  readings.sort((a, b) => Math.abs(b.error) - Math.abs(a.error));
  return table(
    ['recorded step', 'segments', 'recorded, GiB', 'computed, GiB', 'error'],
    readings
      .slice(0, worstShown)
      .map(one => [
        plain(one.id),
        one.segments.replaceAll('_', ' '),
        gib(one.recorded),
        gib(one.predicted),
        percent(one.error),
      ]),
    2,
  );
}

function list(title, items) {
  if (items.length === 0) return '';
  return `<p>${title}</p><ul>${items.map(([id, why]) => `<li>${plain(id)}: ${plain(why)}</li>`).join('')}</ul>`;
}

function everyRun({ files, cases }) {
  return files
    .map(file => {
      const own = cases.filter(one => one.file === file.file);
      const scored = own.filter(one => one.readings?.length);
      const outcomes = own.filter(one => one.readings?.length === 0);
      const title = `${plain(file.file)}: ${scored.length + outcomes.length} runs, ${own.length - scored.length - outcomes.length} not modelled, ${file.not_usable.length} not usable`;
      const source = file.url ? `<a href="${plain(file.url)}">${plain(file.source)}</a>` : plain(file.source);
      return `<details><summary>${title}</summary><p>${source}. ${plain(file.notes)}</p>${scored.length ? runTable(scored) : ''}${list(
        'Only the outcome is known:',
        outcomes.map(one => [
          one.id,
          `${one.outcome === 'fits' ? 'fitted' : 'ended out of memory'}; verdict: ${one.verdict.replaceAll('_', ' ')}`,
        ]),
      )}${list(
        'Not modelled yet:',
        own.filter(one => one.not_scored).map(one => [one.id, one.not_scored]),
      )}${list(
        'Not usable:',
        file.not_usable.map(one => [one.id, one.reason]),
      )}</details>`;
    })
    .join('');
}

const outcomeSentence = seen =>
  `Of ${seen.fitted} published runs that fitted, ${seen.fitted_called_too_large} are called too large; of ${seen.out_of_memory} that ended out of memory, ${seen.out_of_memory_called_fit} are called a fit. ${seen.beyond_capacity} of those that fitted reserve more than their GPU has: replayed within it, as the allocator frees what it cached, ${seen.beyond_capacity - seen.beyond_capacity_called_out_of_memory} run and ${seen.beyond_capacity_called_out_of_memory} would end out of memory.`;

/** What stands in the place of each comment of the page. */
export function accuracyParts(accuracy) {
  const { recorded_steps: recorded, published_runs: published } = accuracy;
  return {
    'recorded steps': groupTable('recorded steps', recorded.groups),
    'worst recorded steps': worstSteps(recorded.cases),
    'published runs': `${groupTable('published runs', published.groups)}${groupTable('all of one confidence', published.confidence)}<p>${outcomeSentence(published.outcomes)}</p>`,
    'worst published runs': worst(published.cases),
    'predictions of others': groupTable('predictions of', published.predicted_groups),
    'uncertain runs': `${groupTable('uncertain runs', published.uncertain_groups)}<p>${outcomeSentence(published.uncertain_outcomes)}</p>`,
    bands: bandTable(accuracy.reserved_bands),
    'every run': everyRun(published),
  };
}

export function prerenderAccuracy() {
  return {
    name: 'prerender-accuracy',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle, filename }) {
        if (!bundle || !filename.endsWith('accuracy.html')) return html;
        if (!existsSync(program)) {
          this.warn?.(`${program} is not built: the accuracy page has no tables`);
          return html.replace(
            /<!-- [a-z ]+ -->/,
            '<p>Built without its tables: <code>./site/serve</code> makes them.</p>',
          );
        }
        const { stdout } = spawnSync(program, ['--json'], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
        const parts = accuracyParts(JSON.parse(stdout));
        return html.replace(/<!-- ([a-z ]+) -->/g, (comment, name) => parts[name] ?? comment);
      },
    },
  };
}
