// Export: the answer as link, table, picture, embedding lines or launch settings; to copy or to save.

import { html, nothing } from 'lit';
import type { GoodAnswer, LaunchSettings } from '../border.js';
import { copyText } from '../clipboard.js';
import { inShort } from '../format.js';
import { isDark } from '../theme.js';
import { joinLink } from '../url.js';
import { headlineText, verdictWords } from '../views/headline.js';
import { oneOf } from '../views/toolbar.js';
import type { View } from '../views/view.js';
import { dialog } from './dialog.js';
import { picture, png } from './picture.js';
import {
  csv,
  description,
  type EmbedView,
  embedElement,
  embedFrame,
  embedViews,
  json,
  markdown,
  type Subject,
} from './texts.js';

interface Kind {
  id: string;
  name: string;
  file: string;
  type: string;
  text(): string;
  /** Of what embeds. */
  view?: EmbedView;
}

const pictureWidth = 1200;
const pictureHeight = 630;

const viewChoices = embedViews.map(value => ({ value, words: value }));

function save(name: string, contents: Blob): void {
  const anchor = document.createElement('a');
  anchor.href = URL.createObjectURL(contents);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}

/** Was it copied? The picture may still be drawn: a browser asks for the clipboard at the click. */
async function copyPicture(picture: Promise<Blob>): Promise<boolean> {
  try {
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': picture })]);
    return true;
  } catch {
    return false;
  }
}

export class ExportDialog {
  private chosen = 'markdown';
  /** What the embedding lines show, if the reader has said. */
  private embedded: EmbedView | undefined;
  private done = '';
  private launch: LaunchSettings[] | undefined;

  constructor(
    private readonly view: View & Element,
    private readonly address: string,
    private readonly redraw: () => void,
    private readonly close: () => void,
  ) {}

  private get subject(): Subject {
    const { state } = this.view.calculator;
    const good = state.good!;
    const home = new URL(this.address);
    const base = new URL('./', home.origin === 'null' ? import.meta.url : home);
    return {
      name: state.subject,
      sentence: headlineText(this.view, good),
      address: this.address,
      script: new URL('trainmem-calculator.js', base).href,
      frame: new URL('embed.html', base).href,
      link: joinLink(good.link, state),
      units: inShort(state.units),
      version: state.engine?.version ?? '',
    };
  }

  private svg(good: GoodAnswer): string {
    const { units, subject } = this.view.calculator.state;
    const [title = '', subtitle = ''] = [
      headlineText(this.view, good).split('. ')[0],
      verdictWords(good.result.verdict, units),
    ];
    return picture({
      result: good.result,
      title: title || subject,
      subtitle,
      foot: this.address.length < 96 ? this.address : `trainmem ${this.subject.version}`,
      units: inShort(units),
      dark: isDark(this.view),
      width: pictureWidth,
      height: pictureHeight,
    });
  }

  private settings(good: GoodAnswer): LaunchSettings[] {
    if (!this.launch) {
      const answer = this.view.calculator.state.engine!.writeSettings(good.link);
      this.launch = answer.ok ? answer.settings : [];
    }
    return this.launch;
  }

  private kinds(good: GoodAnswer): Kind[] {
    const subject = this.subject;
    const kind = (id: string, name: string, file: string, type: string, text: () => string) => ({
      id,
      name,
      file,
      type,
      text,
    });
    const embed = (id: string, name: string, lines: typeof embedElement, otherwise: EmbedView) => {
      const view = this.embedded ?? otherwise;
      return { ...kind(id, name, 'embed.html', 'text/html', () => lines(subject, view)), view };
    };
    return [
      kind('link', 'Link', 'trainmem.txt', 'text/plain', () => subject.address),
      kind('markdown', 'Markdown', 'trainmem.md', 'text/markdown', () => markdown(good, subject)),
      kind('csv', 'CSV', 'trainmem.csv', 'text/csv', () => csv(good)),
      kind('json', 'JSON', 'trainmem.json', 'application/json', () => json(good)),
      kind('svg', 'SVG', 'trainmem.svg', 'image/svg+xml', () => this.svg(good)),
      kind('png', 'PNG', 'trainmem.png', 'image/png', () => this.svg(good)),
      embed('element', 'Embed: element', embedElement, 'compact'),
      embed('frame', 'Embed: iframe', embedFrame, 'bar'),
      ...this.settings(good).map(({ format, title, file, text }) =>
        kind(format, title, file, 'text/plain', () => text),
      ),
    ];
  }

  private choose(id: string): void {
    this.chosen = id;
    this.done = '';
    this.redraw();
  }

  private embed = (view: EmbedView): void => {
    this.embedded = view;
    this.choose(this.chosen);
  };

  private say(done: string): void {
    this.done = done;
    this.redraw();
  }

  private copy = async (kind: Kind): Promise<void> => {
    if (kind.id === 'png') {
      this.say((await copyPicture(this.pixels(kind))) ? 'Copied' : 'The browser refuses; it can be saved.');
      return;
    }
    const dialog = this.view.shadowRoot?.querySelector('dialog') ?? undefined;
    this.say((await copyText(kind.text(), dialog)) ? 'Copied' : 'The browser refuses; the text can be selected.');
  };

  private saveAs = async (kind: Kind): Promise<void> => {
    save(kind.file, kind.id === 'png' ? await this.pixels(kind) : new Blob([kind.text()], { type: kind.type }));
    this.say('Saved');
  };

  private pixels(kind: Kind): Promise<Blob> {
    return png(kind.text(), pictureWidth, pictureHeight);
  }

  /** Arrow keys move among the kinds, as among tabs. */
  private move(event: KeyboardEvent, kinds: Kind[]): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = kinds.findIndex(({ id }) => id === this.chosen);
    this.choose(kinds[(at + step + kinds.length) % kinds.length]!.id);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-kind='${this.chosen}']`)?.focus();
    event.preventDefault();
  }

  private preview(kind: Kind, good: GoodAnswer) {
    if (kind.id === 'svg' || kind.id === 'png') {
      return html`<img
        width=${pictureWidth}
        height=${pictureHeight}
        alt=${description(good, this.subject)}
        src=${`data:image/svg+xml;charset=utf-8,${encodeURIComponent(kind.text())}`}
      />`;
    }
    const text = kind.text();
    const shown = text.length > 20_000 ? `${text.slice(0, 20_000)}\n...` : text;
    return html`<pre tabindex="0" role="region" aria-label=${kind.name}>${shown}</pre>`;
  }

  render() {
    const { good, engine } = this.view.calculator.state;
    if (!good || !engine) return nothing;
    const kinds = this.kinds(good);
    const kind = kinds.find(({ id }) => id === this.chosen) ?? kinds[0]!;
    const unsaid = this.launch?.find(({ format }) => format === kind.id)?.not_said ?? [];
    return dialog(
      'Export',
      this.close,
      html`<div class="choices" role="tablist" aria-label="Kind" @keydown=${(event: KeyboardEvent) => this.move(event, kinds)}>
          ${kinds.map(
            ({ id, name }) =>
              html`<button type="button" class="button" role="tab" data-kind=${id} aria-selected=${id === kind.id} aria-controls="export-panel" tabindex=${id === kind.id ? 0 : -1} @click=${() => this.choose(id)}>${name}</button>`,
          )}
        </div>
        ${kind.view ? html`<div class="line">${oneOf('embedded', 'What it shows', viewChoices, kind.view, this.embed)}</div>` : nothing}
        <div id="export-panel" role="tabpanel" aria-label=${kind.name}>${this.preview(kind, good)}</div>
        ${
          unsaid.length > 0
            ? html`<p class="muted">
                This format has no words for: ${unsaid.map(path => path.split('/').slice(2).join(' ').replaceAll('_', ' ')).join(', ')}.
                Set these in the training script.
              </p>`
            : nothing
        }
        <div class="line">
          <button type="button" class="button primary" @click=${() => this.copy(kind)}>Copy</button>
          <button type="button" class="button" @click=${() => this.saveAs(kind)}>Save as ${kind.file}</button>
          <span class="muted" role="status">${this.done}</span>
        </div>`,
    );
  }
}
