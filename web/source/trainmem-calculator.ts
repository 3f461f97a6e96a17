// <trainmem-calculator>: where does GPU memory go when I train this model?
//
// Attributes: config (a calculator link, or a configuration as JSON), view (full, compact, bar), theme (light, dark,
// auto; without it the host's color-scheme counts), units (GiB, GB, bytes), readonly. The attribute `page` makes the element
// own the page: its address, title and colour scheme; without it the element touches nothing but itself.
// Event trainmem-change, bubbling and composed: detail {config, link, result}. Property `value`: the link.

import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { afterPaint } from './after_paint.js';
import { configOf } from './attribute.js';
import { Below } from './below.js';
import type { Engine, SectionName } from './border.js';
import { copyText } from './clipboard.js';
import { Companion } from './companion.js';
import { DrawnBefore } from './drawn_before.js';
import { engine, recordedEngine } from './engine.js';
import { atFirstSign } from './first_sign.js';
import { Folds } from './folds.js';
import { isUnits, type Units } from './format.js';
import { LaterParts, type Parts } from './later_parts.js';
import { isFirstVisit, recordedBy } from './recorded.js';
import { keepForOffline, Sharing } from './share/later.js';
import { Calculator, type Change, defaultConfig } from './state.js';
import { calculatorStyles } from './styles/calculator.js';
import { PageTheme } from './theme.js';
import { Address, joinLink, settingsHint, splitLink } from './url.js';
import { Announcer } from './views/announcer.js';
import { headline, headlineText } from './views/headline.js';
import { failureNotice, issueSummary, linkNotice } from './views/notices.js';
import { OutOfSight } from './views/out_of_sight.js';
import { pickers } from './views/pickers.js';
import { toolbar } from './views/toolbar.js';
import type { PickerState, View } from './views/view.js';

/** Milliseconds after which a first visit has the engine, and is kept for offline use, without a sign of the reader. */
const patience = 4000;

export class TrainmemCalculator extends DrawnBefore implements View {
  static override properties = {
    config: { type: String },
    view: { converter: (view: string | null) => (view === 'compact' || view === 'bar' ? view : 'full'), reflect: true },
    theme: { type: String, reflect: true },
    units: { type: String },
    readonly: { type: Boolean, reflect: true },
    page: { type: Boolean },
  };

  static override styles = calculatorStyles;

  declare config: string | null;
  declare view: 'full' | 'compact' | 'bar';
  declare theme: 'light' | 'dark' | 'auto' | null;
  declare units: Units;
  declare readonly: boolean;
  declare page: boolean;

  readonly calculator = new Calculator(change => this.changed(change), afterPaint);
  readonly companion = new Companion(this);
  hot = '';
  cursor: number | undefined;
  picker: PickerState | undefined;
  /** Begins at once, wherever it stands: in a frame of its own, which the browser loads when it is near. */
  eager = false;
  coming: { section: SectionName; keys: string[] } | undefined;
  help = '';
  fieldQuery = '';
  copied = false;
  private readonly folds = new Folds(() => this.requestUpdate());
  private address: Address | undefined;
  private nearness: IntersectionObserver | undefined;
  private readonly answer = new OutOfSight(this);
  private readonly later = new LaterParts(this);
  private readonly below = new Below(this, () => !this.later.awaited);
  private readonly theming = new PageTheme(this);
  private readonly announcer = new Announcer(this);
  private started = false;
  private callOff: (() => void) | undefined;
  private recording: Promise<unknown> | undefined;
  /** The task in which the last answer is drawn: a key that comes up meanwhile is heard between the two. */
  private turn: Promise<unknown> | undefined;

  constructor() {
    super();
    this.config = null;
    this.view = 'full';
    this.theme = null;
    this.units = 'GiB';
    this.readonly = false;
    this.page = false;
  }

  /** The canonical link of the configuration in the fields. */
  get value(): string {
    return this.companion.link(this.calculator.state.link);
  }
  set value(link: string) {
    this.config = link;
  }

  private wide: boolean | undefined;

  get roomy(): boolean {
    this.wide ??= this.clientWidth === 0 || this.clientWidth >= 640;
    return this.wide;
  }

  get parts() {
    return this.later.here;
  }

  get open(): ReadonlySet<string> {
    return this.folds.open;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.page) this.address = new Address(fragment => this.openLink(fragment));
    // Far below the fold an embed waits until it is near.
    if (this.started || this.page || this.eager || typeof IntersectionObserver === 'undefined') this.load();
    else {
      this.nearness = new IntersectionObserver(
        entries => {
          if (!entries.some(entry => entry.isIntersecting)) return;
          this.nearness?.disconnect();
          this.load();
        },
        { rootMargin: '600px' },
      );
      this.nearness.observe(this);
    }
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.address?.close();
    this.address = undefined;
    this.callOff?.();
    this.nearness?.disconnect();
  }

  private load = async (): Promise<void> => {
    this.started = true;
    if (this.calculator.state.engine) {
      this.calculator.start(this.calculator.state.engine);
      this.finish();
      return;
    }
    // An embed takes its place on another's page at once: it waits until it can be drawn whole.
    const whole = this.page || this.view === 'bar' ? undefined : this.later.fetch();
    const recording = this.page ? recordedBy(this) : undefined;
    this.recording = recording;
    const recorded = await recording;
    this.recording = undefined;
    if (recorded && !this.given() && isFirstVisit(recorded, splitLink(Address.opened()).link))
      this.begin(recordedEngine(recorded));
    else {
      this.later.fetch();
      Promise.all([engine(recorded), whole]).then(([loaded]) => this.begin(loaded), this.failed);
    }
  };

  /** Before its recorded answers have come the page has nothing to draw. */
  protected override async scheduleUpdate(): Promise<unknown> {
    await this.recording;
    await this.turn;
    return super.scheduleUpdate();
  }

  private begin = (loaded: Engine): void => {
    this.calculator.state.engine = loaded;
    this.openLink(this.address ? Address.opened() : '');
    if (!this.page) return;
    this.callOff = atFirstSign(this.finish, patience);
    if (isSecureContext && navigator.serviceWorker) setTimeout(keepForOffline, patience);
  };

  private failed = (error: unknown): void => {
    this.calculator.fail(error instanceof Error ? error.message : String(error));
  };

  private given(): boolean {
    return (this.config ?? '').trim() !== '';
  }

  private finish = (): void => {
    this.calculator.state.engine?.finish?.().catch(this.failed);
  };

  /** A link on top of what the config attribute says. */
  private openLink(fragment: string): void {
    const { link, view, ignored } = splitLink(fragment);
    const { engine: loaded } = this.calculator.state;
    const known = link === '' ? !this.given() : loaded?.known('read_link', link) !== undefined;
    const finished = known ? undefined : loaded?.finish?.();
    if (finished) {
      finished.then(() => this.openLink(fragment)).catch(this.failed);
      return;
    }
    const { state } = this.calculator;
    const text = this.config?.trim() ?? '';
    const given = splitLink(text.startsWith('{') ? '' : text.slice(text.indexOf('#') + 1));
    const own = isUnits(this.units) ? this.units : 'GiB';
    state.units = view.units ?? given.view.units ?? own;
    state.timeline = view.timeline ?? given.view.timeline ?? 'phase';
    const base = configOf(text);
    const opened = link || given.link;
    this.companion.opened(opened);
    this.calculator.open(opened, base ?? defaultConfig);
    if (!base)
      this.calculator.addNotice('The attribute "config" is not valid JSON.', 'The embedding page shows its forms.');
    for (const part of [...given.ignored, ...ignored])
      this.calculator.addNotice(`"${part}" is no setting of the page.`, settingsHint);
  }

  protected override willUpdate(properties: PropertyValues<this>): void {
    if (this.hasUpdated && properties.has('units') && isUnits(this.units)) this.calculator.state.units = this.units;
    if (properties.has('config') && properties.get('config') !== undefined && this.calculator.state.engine) {
      this.openLink('');
    }
  }

  private changed(change: Change): void {
    this.requestUpdate();
    if (change !== 'view') {
      this.cursor = undefined;
      this.companion.note();
      if (this.hasUpdated) this.turn = new Promise(resolve => setTimeout(resolve));
    }
    const { good, issues, link, engine: loaded } = this.calculator.state;
    if (this.address && loaded && link) {
      const fragment = joinLink(this.value, this.calculator.state);
      if (change === 'choice') this.address.push(fragment);
      else this.address.replace(fragment);
    }
    if (!good || change === 'view' || issues.length > 0) return;
    this.dispatchEvent(
      new CustomEvent('trainmem-change', {
        bubbles: true,
        composed: true,
        detail: { config: good.config, link: good.link, result: good.result },
      }),
    );
  }

  point(name: string): void {
    if (name === this.hot) return;
    this.hot = name;
    this.requestUpdate();
  }

  toggle(id: string, open = !this.open.has(id)): void {
    this.folds.toggle(id, open);
  }

  moveCursor(index: number | undefined): void {
    this.cursor = index;
    this.requestUpdate();
  }

  openPicker(section: SectionName, key = ''): void {
    if (this.picker?.section === section) this.parts?.press(this, key);
    else if (this.coming?.section === section) this.coming.keys.push(key);
    else {
      this.coming = { section, keys: [key] };
      const open = (parts: Parts) => {
        const { coming } = this;
        if (!coming || this.picker?.section === coming.section) return;
        this.setPicker(parts.opened(this, coming.section));
        for (const key of coming.keys) parts.press(this, key);
      };
      this.later
        .use(parts => this.calculator.afterPaint(() => open(parts)))
        .then(here => {
          if (!here) this.coming = undefined;
        });
    }
  }

  setPicker(picker: PickerState | undefined): void {
    const opening = this.picker?.section !== picker?.section;
    this.picker = picker;
    this.requestUpdate();
    if (picker) this.parts?.drawnList(this, picker, opening);
  }

  explain(path: string): void {
    if (path === this.help) return;
    this.help = path;
    this.calculator.redraw();
  }

  findField(query: string): void {
    this.fieldQuery = query;
    this.calculator.redraw();
  }

  /** Address of the full calculator with this configuration. */
  private shareAddress(): string {
    const link = new URL(this.page ? location.pathname : './', this.page ? location.href : import.meta.url);
    link.hash = joinLink(this.value, this.calculator.state);
    return link.href;
  }

  private readonly sharing = new Sharing(this, () => this.shareAddress());

  copyLink = async (): Promise<void> => {
    await this.updateComplete;
    this.address?.flush();
    this.copied = await copyText(this.shareAddress());
    this.requestUpdate();
    setTimeout(() => {
      this.copied = false;
      this.requestUpdate();
    }, 1600);
  };

  goTo(target: string): void {
    this.later.use(parts => parts.goTo(this, target));
  }

  /** Resolves when the answer to the last edit is on the screen. */
  protected override async getUpdateComplete(): Promise<boolean> {
    while (this.calculator.busy || this.below.late || this.later.unfinished || this.folds.late)
      await new Promise(resolve => setTimeout(resolve, 4));
    return super.getUpdateComplete();
  }

  protected override updated(): void {
    const { good } = this.calculator.state;
    if (!good) return;
    const text = headlineText(this, good);
    this.announcer.say(text, this.page ? `${text.split('. ')[0]} \u2013 trainmem` : undefined);
  }

  private body(tools: TemplateResult) {
    const { good, engine: loaded, failure, issues } = this.calculator.state;
    const result = good?.result;
    const answer = result
      ? headline(this, result, this.view !== 'bar', tools)
      : failure
        ? nothing
        : issues.length > 0
          ? html`<section class="panel answer" part="answer" aria-label="Answer">
            <p class="muted">The answer stands here as soon as the configuration can be computed.</p>
          </section>`
          : html`<section class="panel answer waiting" aria-busy="true">
            <p class="muted">Starting the engine …</p>
          </section>`;
    const editable = !this.readonly && this.view !== 'bar' && (loaded !== undefined || !failure);
    if (this.view !== 'full') {
      return html`${editable ? pickers(this) : nothing} ${answer} ${editable && loaded ? this.parts?.compactControls(this) : nothing}`;
    }
    return html`${editable ? pickers(this) : nothing} ${answer} ${this.below.draw(() => this.companion.comparison())}
      <div class=${editable ? 'columns' : 'column'}>
        ${editable && loaded && this.below.begun ? this.later.fields() : nothing}
        ${result ? this.below.draw(() => this.later.panels(result)) : nothing}
      </div>`;
  }

  protected override render() {
    const { good } = this.calculator.state;
    // The build draws for no address.
    const address = globalThis.location ? this.shareAddress() : '';
    const options = {
      address,
      home: this.page ? undefined : address,
      dark: this.theming.dark,
      switchTheme: this.page ? this.theming.switch : undefined,
      bring: this.readonly || this.view !== 'full' ? undefined : () => this.sharing.bring(),
      take: this.view === 'bar' || !good ? undefined : () => this.sharing.take(),
    };
    return html`${
      good && this.view === 'full'
        ? html`<div class="slimholder">${this.answer.away ? this.parts?.slimLine(this, good) : nothing}</div>`
        : nothing
    }
      <div class="calculator ${this.hot ? `hot-${this.hot}` : ''}" part="calculator" @dragover=${this.sharing.dragged} @drop=${this.sharing.dragged}>
        <div class="notices">
          ${linkNotice(this)} ${failureNotice(this, this.load)} ${this.later.notice()} ${issueSummary(this)}
        </div>
        ${this.body(toolbar(this, options))}
      </div>
      <p class="visually-hidden" aria-live="polite">${this.announcer.text}</p>
      <div class="dialogs"></div>`;
  }
}

if (!customElements.get('trainmem-calculator')) customElements.define('trainmem-calculator', TrainmemCalculator);

declare global {
  interface HTMLElementTagNameMap {
    'trainmem-calculator': TrainmemCalculator;
  }
}
