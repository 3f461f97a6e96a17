// Import: paste or drop what another program wrote, see what of it is used, apply it.

import { html, nothing } from 'lit';
import type { Config, Field, Imported } from '../border.js';
import { gpusTogether, readGpus } from '../explore/gpus.js';
import { fieldLabel, isNumeric } from '../fields.js';
import { gigabytes, grouped, plural, words } from '../format.js';
import { optionLabel } from '../option_labels.js';
import { breakable } from '../views/breakable.js';
import { verdictWords } from '../views/headline.js';
import type { View } from '../views/view.js';
import { dialog } from './dialog.js';
import { readHubName } from './hub.js';

const formats: Record<string, string> = {
  huggingface: 'a Hugging Face config.json',
  hub: 'a model on the Hugging Face hub',
  deepspeed: 'a DeepSpeed file',
  torchtitan: 'a torchtitan file',
  megatron: 'Megatron arguments',
  trainer: 'arguments of the transformers Trainer',
  python: 'Python with transformers',
  llamafactory: 'a LLaMA-Factory file',
  ms_swift: 'arguments of ms-swift',
  axolotl: 'an axolotl file',
  torchtune: 'a torchtune file',
  accelerate: 'an accelerate file',
  trainmem: 'a configuration of trainmem',
  link: 'a link',
};

const copiesPath = '/recipe/data_parallel_size';
/** What a settings file leaves to the launch: these stay as they are on the page, unless the file says them. */
const launchPaths = ['/recipe/sequence_length', '/recipe/micro_batch_size', copiesPath];

const ours = ({ format }: Imported) => format === 'trainmem' || format === 'link';
const says = ({ applied }: Imported, path: string) => applied.some(one => one.path === path);

/** Does the text leave it to the launch how many GPUs there are? */
const leavesGpus = (imported: Imported) =>
  imported.ok && !ours(imported) && imported.sections.includes('recipe') && !says(imported, copiesPath);

/** The page's configuration with the sections of the text in place of its own; `copies` of the model, if it says so. */
function merged(view: View, imported: Imported, copies?: number): Config {
  const { calculator } = view;
  const config: Config = { ...calculator.state.config };
  for (const section of imported.sections) config[section] = structuredClone(imported.config[section] ?? {});
  if (imported.sections.includes('recipe') && !ours(imported)) {
    for (const path of launchPaths) {
      const value = path === copiesPath ? (copies ?? calculator.value(path)) : calculator.value(path);
      if (!says(imported, path) && value !== undefined) config.recipe![path.split('/')[2]!] = value;
    }
  }
  return config;
}

export class ImportDialog {
  private text = '';
  private imported: Imported | undefined;
  /** The GPUs of the launch, as they are typed; the copies of the model that they are. */
  private gpus: { text: string; message: string; copies?: number } | undefined;

  constructor(
    private readonly view: View,
    private readonly redraw: () => void,
    private readonly close: () => void,
  ) {}

  read(text: string): void {
    this.text = text;
    this.gpus = undefined;
    const { engine } = this.view.calculator.state;
    this.imported =
      engine && text.trim() !== ''
        ? (readHubName(text, engine.presets.models) ?? engine.readSettings(text))
        : undefined;
    this.redraw();
  }

  async readFile(file: File | undefined): Promise<void> {
    if (file) this.read(await file.text());
  }

  private apply = (): void => {
    if (!this.imported) return;
    this.view.calculator.replaceConfig(merged(this.view, this.imported, this.gpus?.copies));
    this.close();
  };

  private setGpus(imported: Imported, text: string): void {
    const read = readGpus(text);
    const together = gpusTogether(merged(this.view, imported));
    if (!read.ok) this.gpus = { text, message: read.message };
    else if (read.value % together > 0)
      this.gpus = { text, message: `Each copy of the model takes ${together} GPUs: give a multiple.` };
    else this.gpus = { text, message: '', copies: read.value / together };
    this.redraw();
  }

  /** Files say how a model is divided; how often it is held, the launch decides. */
  private launch(imported: Imported) {
    if (!leavesGpus(imported)) return nothing;
    const config = merged(this.view, imported);
    const copies = Number(config.recipe?.data_parallel_size ?? 1);
    const { text = String(copies * gpusTogether(config)), message = '' } = this.gpus ?? {};
    return html`<div class="line">
      <label for="import-gpus">GPUs of the run</label>
      <span class="box gpus ${message ? 'wrong' : ''}"
        ><input id="import-gpus" type="text" inputmode="numeric" autocomplete="off" aria-describedby="import-gpus-message" aria-invalid=${message ? 'true' : nothing} .value=${text} @input=${(event: InputEvent) => this.setGpus(imported, (event.target as HTMLInputElement).value)}
      /></span>
      <span id="import-gpus-message" class=${message ? 'bad' : 'muted'} role="status">${message || 'The text does not say how many there are.'}</span>
    </div>`;
  }

  /** What the page would say of it. */
  private outcome(imported: Imported) {
    const { engine, units } = this.view.calculator.state;
    const answer = engine!.estimate(merged(this.view, imported, this.gpus?.copies));
    if (!answer.ok)
      return html`<p class="bad">With it no answer can be given: ${answer.issues[0]?.message} <span class="muted">${answer.issues[0]?.hint}</span></p>`;
    const { device, verdict, num_gpus } = answer.result;
    const gpus = num_gpus > 1 ? ` on each of ${plural(num_gpus, 'GPU')}` : '';
    return html`<p>With it: <strong>${gigabytes(device.expected, units)}</strong>${gpus}. ${verdictWords(verdict, units)}.</p>`;
  }

  private field(path: string): Field | undefined {
    return this.view.calculator.state.engine?.presets.fields.find(field => field.path === path);
  }

  /** A field's name as the controls have it; of what is no field, its path. */
  private fieldWords(path: string): string {
    if (path === '/model') return 'Model';
    const field = this.field(path);
    return field ? fieldLabel(field) : words(path.slice(1).replaceAll('/', ' / '));
  }

  private valueWords(path: string, set: string): string {
    const models = this.view.calculator.state.engine?.presets.models ?? [];
    if (path === '/model') return models.find(({ id }) => id === set)?.name ?? set;
    const field = this.field(path);
    if (field?.type === 'boolean') return set === '1' || set === 'true' ? 'on' : 'off';
    if (field?.options) return optionLabel(field, set);
    return field && isNumeric(field) && /^\d+$/.test(set) ? grouped(Number(set)) : set;
  }

  private report(imported: Imported) {
    const { ok, format, issues, applied, unused, sections } = imported;
    if (!ok)
      return html`<div role="status">
        <p class="bad"><strong>This text cannot be used${formats[format] ? html` as ${formats[format]}` : nothing}.</strong></p>
        <ul>
          ${issues?.map(({ message, hint }) => html`<li>${message} <span class="muted">${hint}</span></li>`)}
        </ul>
      </div>`;
    const meaningless = unused.filter(({ why }) => why === '').map(({ key }) => key);
    const reasons = unused.filter(({ why }) => why !== '');
    return html`<div role="status">
        <p>
          <strong>Read as ${formats[format] ?? format}.</strong>
          ${sections.includes('model') ? nothing : 'The model stays the one on the page.'}
        </p>
      </div>
      ${this.launch(imported)}
      ${
        applied.length > 0
          ? html`<section>
              <h4>Applied</h4>
              <div class="scroll" tabindex="0" role="group" aria-label="Applied keys">
                <table>
                  <tr><th>In the text</th><th>Field</th><th>Value</th></tr>
                  ${applied.map(
                    ({ key, value, path, set }) =>
                      html`<tr><td><code>${breakable(`${key}${value === '' || key === value ? '' : ` = ${value}`}`)}</code></td><td>${this.fieldWords(path)}</td><td>${this.valueWords(path, set)}</td></tr>`,
                  )}
                </table>
              </div>
            </section>`
          : nothing
      }
      ${
        reasons.length > 0
          ? html`<section>
              <h4>Not used, and may matter</h4>
              <ul>
                ${reasons.map(({ key, value, why }) => html`<li><code>${key}${value === '' ? '' : ` = ${value}`}</code> <span class="muted">${why}</span></li>`)}
              </ul>
            </section>`
          : nothing
      }
      ${
        meaningless.length > 0
          ? html`<p class="muted">No part of a configuration here: ${meaningless.join(', ')}.</p>`
          : nothing
      }`;
  }

  render() {
    return dialog(
      'Import',
      this.close,
      html`<p class="muted ${this.imported ? 'begun' : ''}">
          Paste a Hugging Face <code>config.json</code>, or a model's name there; the cells of a notebook that call
          <code>TrainingArguments</code>, <code>LoraConfig</code> or <code>from_pretrained</code>; a training command
          of transformers, TRL, ms-swift or Megatron; a YAML of axolotl, LLaMA-Factory, torchtune or accelerate; a DeepSpeed
          JSON, a torchtitan TOML, or a link. It is read here in the browser and sent nowhere.
        </p>
        <textarea
          id="import-text"
          aria-label="Text to read"
          placeholder='{"model_type": "llama", "hidden_size": 4096, …}'
          autofocus
          spellcheck="false"
          autocomplete="off"
          .value=${this.text}
          @input=${(event: InputEvent) => this.read((event.target as HTMLTextAreaElement).value)}
        ></textarea>
        <div class="line">
          <label class="button file">Choose a file<input type="file" @change=${(event: Event) => this.readFile((event.target as HTMLInputElement).files?.[0])} /></label>
          <span class="muted">or drop one anywhere on the calculator</span>
        </div>
        ${this.imported ? this.report(this.imported) : nothing}
        <div class="line">
          <button type="button" class="button primary" ?disabled=${!this.imported?.ok} @click=${this.apply}>Use it</button>
          <button type="button" class="button" @click=${this.close}>Cancel</button>
          ${this.imported?.ok ? this.outcome(this.imported) : nothing}
        </div>`,
    );
  }
}
