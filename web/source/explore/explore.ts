// <trainmem-explore>: the panels that try other configurations. Fetched when the calculator has answered and is idle.
//
// Inside <trainmem-calculator>, which hands it itself as `view`. Whatever costs many estimates runs beside the page and
// is dropped when an edit makes it old: an edit never waits for it.

import { css, html, LitElement, nothing, type PropertyValues } from 'lit';
import { afterPaint } from '../after_paint.js';
import type { Config, GoodAnswer, Preset } from '../border.js';
import { asNumber, type Units } from '../format.js';
import { base } from '../styles/base.js';
import { tokens } from '../styles/tokens.js';
import { barStyles } from '../views/bar.js';
import { foldStyles } from '../views/fold.js';
import type { View } from '../views/view.js';
import './compare.js';
import './ways_panel.js';
import { advicePanel, adviceStyles } from './advice_panel.js';
import type { Advice } from './answers.js';
import { Asker } from './asker.js';
import { fitsPanel, fitsStyles, runs } from './fits_panel.js';
import { fitStyles } from './go_and_say.js';
import { readGpus } from './gpus.js';
import type { Explorer } from './panel.js';
import { gpusToTry, type PlanState, planPanel, planStyles, withOthers } from './plan_panel.js';
import { type Axis, axes, sweepPanel, valuesOf } from './sweep_panel.js';
import { sweepStyles } from './sweep_styles.js';
import { Sweeper } from './sweeper.js';

/** Milliseconds without an edit before anything is asked. */
const pause = 120;

class TrainmemExplore extends LitElement implements Explorer {
  static override properties = { view: { attribute: false }, good: { attribute: false }, units: { type: String } };
  static override styles = [
    tokens,
    base,
    barStyles,
    foldStyles,
    fitStyles,
    adviceStyles,
    sweepStyles,
    fitsStyles,
    planStyles,
    css`
      :host {
        background: none;
      }
      .column {
        gap: 20px;
      }
      .old {
        opacity: 0.55;
      }
      /* In sight wherever the reader has applied it. */
      .done {
        position: sticky;
        z-index: 4;
        inset-block-end: 12px;
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 6px 14px;
        padding: 10px 16px;
        border: 1px solid var(--hairline);
        border-radius: var(--radius);
        background: var(--surface);
        box-shadow: 0 6px 22px light-dark(rgb(0 0 0 / 0.16), rgb(0 0 0 / 0.6));
        font-size: 14px;
      }
      .done p {
        flex: 1;
      }
    `,
  ];

  declare view: View & LitElement;
  declare good: GoodAnswer;
  declare units: Units;

  private loaded: Asker | undefined;
  private advice: Advice | undefined;
  private asked = '';
  private answered = '';
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** What was applied last, and the link it led to: the words stand until something else changes. */
  private done = '';
  /** The panel in which it was. */
  private doneIn = '';
  private doneLink = '';
  private axis: Axis = axes[0]!;
  private readonly sweep = new Sweeper('sweep', () => this.requestUpdate());
  private readonly gpus = new Sweeper('gpus', () => this.requestUpdate());
  private allGpus = false;
  private plan: PlanState = { text: '', message: '', busy: false, plan: undefined, others: [] };
  private gpusAsked = false;
  /** The link for which layouts were asked last. */
  private planned = '';
  private readonly seen = new Set<string>();
  private nearness: IntersectionObserver | undefined;

  get asker(): Asker {
    this.loaded ??= new Asker(this.view.calculator.state.engine!);
    return this.loaded;
  }
  get fields() {
    return this.view.calculator.state.engine?.presets.fields ?? [];
  }
  get readonly(): boolean {
    return this.view.readonly;
  }
  get open(): ReadonlySet<string> {
    return this.view.open;
  }

  toggle(id: string): void {
    this.view.toggle(id);
    afterPaint(() => {
      this.requestUpdate();
      this.askSweeps();
    });
  }

  apply(config: Config, words: string): void {
    this.doneIn = this.shadowRoot?.activeElement?.closest('section')?.id ?? 'advice';
    this.view.companion.apply(config, () => {
      this.done = words;
      this.doneLink = this.view.calculator.state.link;
      this.requestUpdate();
      this.focusOn('.done button');
    });
  }

  private undo = (): void => {
    this.view.companion.move(-1);
    this.done = '';
    this.requestUpdate();
    this.focusOn(`#${this.doneIn} .unfold`);
  };

  private focusOn(place: string): void {
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(place)?.focus({ preventScroll: true }));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.timer);
    this.loaded?.close();
    this.loaded = undefined;
    this.asked = '';
    this.planned = '';
    this.sweep.forget();
    this.gpus.forget();
    this.nearness?.disconnect();
    this.nearness = undefined;
  }

  /** Panels far below ask for nothing until the reader comes near. */
  protected override updated(): void {
    if (this.nearness) return;
    this.nearness = new IntersectionObserver(
      entries => {
        for (const { isIntersecting, target } of entries) {
          if (isIntersecting) this.seen.add(target.id);
          else this.seen.delete(target.id);
        }
        this.askSweeps();
      },
      { rootMargin: '300px' },
    );
    for (const id of ['sweeps', 'fitson', 'plan']) this.nearness.observe(this.renderRoot.querySelector(`#${id}`)!);
  }

  /** At first these panels follow what stands around them, one frame later. */
  protected override async scheduleUpdate(): Promise<unknown> {
    if (!this.hasUpdated) await new Promise<void>(afterPaint);
    return super.scheduleUpdate();
  }

  private get present(): string {
    const { calculator } = this.view;
    return this.axis.path === '/model'
      ? (calculator.state.config.model?.preset ?? '')
      : String(calculator.value(this.axis.path) ?? '');
  }

  private askSweeps(): void {
    const { link } = this.good;
    if (this.answered === '' && this.asked !== '') return; // advice comes first
    const { seen, open } = this;
    const { num_gpus, verdict } = this.good.result;
    if (seen.has('sweeps') && open.has('sweeps')) {
      const values = valuesOf(this.axis, this.present, verdict.fit !== 'does_not_fit');
      this.sweep.show(this.asker, link, this.axis.path, values);
    }
    if (seen.has('fitson') && open.has('fitson'))
      this.gpus.show(
        this.asker,
        link,
        '/gpu',
        this.presets('gpus')
          .filter(runs(num_gpus))
          .map(gpu => gpu.id),
      );
    if (seen.has('plan') && open.has('plan') && this.answered === link && this.planned !== link)
      this.findLayouts(this.plan.text);
  }

  private presets(kind: 'gpus' | 'models'): Preset[] {
    return this.view.calculator.state.engine?.presets[kind] ?? [];
  }

  private choose = (axis: Axis): void => {
    this.axis = axis;
    afterPaint(() => {
      this.requestUpdate();
      this.askSweeps();
    });
  };

  private planFor = (text: string): void => {
    this.gpusAsked = true;
    this.findLayouts(text);
  };

  private async findLayouts(text: string): Promise<void> {
    const read = readGpus(text);
    this.planned = this.good.link;
    this.plan = { ...this.plan, text, message: read.ok ? '' : read.message, busy: read.ok };
    this.requestUpdate();
    if (!read.ok) return;
    const answer = await this.asker.ask('plan', 'plan', this.good.link, read.value);
    if (!answer) return;
    const message = answer.ok ? '' : (answer.issues[0]?.message ?? '');
    const { engine, config } = this.view.calculator.state;
    const framework = this.good.config.recipe.framework;
    const others = answer.ok ? withOthers(engine!, config, framework, answer.plan.num_gpus) : [];
    this.plan = { text, message, busy: false, plan: answer.ok ? answer.plan : undefined, others };
    this.requestUpdate();
  }

  protected override willUpdate(properties: PropertyValues<this>): void {
    if (!properties.has('good') || this.good.link === this.asked) return;
    const text = this.gpusAsked ? this.plan.text : String(gpusToTry(this.good.result, false));
    this.plan = { ...this.plan, text, busy: false, plan: undefined };
    this.loaded?.forget('plan');
    this.asked = this.good.link;
    if (this.asked !== this.doneLink) this.done = '';
    clearTimeout(this.timer);
    this.loaded?.forget('advice');
    this.timer = setTimeout(this.askAdvice, pause);
  }

  private askAdvice = async (): Promise<void> => {
    const { link } = this.good;
    const answer = await this.asker.ask('advice', 'advice', link);
    if (link !== this.asked || !answer?.ok) return;
    this.answered = link;
    this.advice = answer.advice;
    const { result } = this.good;
    const tooFew = result.verdict.fit === 'does_not_fit' && answer.advice.remedies.length === 0;
    if (!this.gpusAsked) this.plan = { ...this.plan, text: String(gpusToTry(result, tooFew)) };
    this.view.companion.advised = { link, remedies: answer.advice.remedies };
    this.requestUpdate();
    this.view.requestUpdate();
    this.askSweeps();
  };

  private showAll = (all: boolean): void => {
    this.allGpus = all;
    this.requestUpdate();
  };

  protected override render() {
    const { config } = this.view.calculator.state;
    const models = this.presets('models');
    const names = new Map(models.map(model => [model.id, model.name]));
    const sizes = new Map(models.map(model => [model.id, asNumber(model.parameters)]));
    const together = this.good.result.num_gpus / (asNumber(this.good.config.recipe?.data_parallel_size) || 1);
    const sweep = { axis: this.axis, present: this.present, points: this.sweep.points, names, sizes, together };
    return html`<div class="column">
      ${advicePanel(this, this.advice, this.answered !== this.good.link)}
      ${sweepPanel(this, config, sweep, this.choose)}
      ${fitsPanel(this, config, this.gpus.points, this.presets('gpus'), this.allGpus, this.showAll)}
      ${planPanel(this, this.plan, this.planFor)}
      ${
        this.done
          ? html`<div class="done" role="status">
              <p>Applied: ${this.done}.</p>
              <button type="button" class="button" @click=${this.undo}>Undo</button>
            </div>`
          : nothing
      }
    </div>`;
  }
}

if (!customElements.get('trainmem-explore')) customElements.define('trainmem-explore', TrainmemExplore);
