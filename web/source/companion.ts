// What accompanies a calculator: its history for undo and redo, the configuration that it is compared with, and the
// panels that try others.

import { html, type LitElement, nothing, type ReactiveController, type TemplateResult } from 'lit';
import type { Config, GoodAnswer } from './border.js';
import type { Advice, Remedy } from './explore/answers.js';
import { direction, History } from './history.js';
import type { View, ViewCompanion } from './views/view.js';

type Host = LitElement & View;

export class Companion implements ReactiveController, ViewCompanion {
  private readonly history = new History();
  /** Each price's, as advice found them for the configuration of a link. */
  advised: { link: string; remedies: Remedy[] } | undefined;
  /** Where undo and redo lead, until it is answered. */
  private target: Config | undefined;

  /** The configuration that the one in the fields is compared with. */
  private against: { config: Config; good: GoodAnswer } | undefined;

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  hostConnected(): void {
    this.keys('addEventListener');
  }

  hostDisconnected(): void {
    this.keys('removeEventListener');
  }

  private keys(what: 'addEventListener' | 'removeEventListener'): void {
    const target: EventTarget = this.host.hasAttribute('page') ? document : this.host;
    target[what]('keydown', this.press as EventListener);
  }

  /**
   * Of all remedies the one with the fewest changes, and of those the cheapest; null: none was found; undefined: not yet
   * known. What a first visit shows is recorded.
   */
  get remedy(): Remedy | null | undefined {
    const { engine, good } = this.host.calculator.state;
    if (!good) return undefined;
    const known = engine?.known('advice', good.link) as { advice: Advice } | undefined;
    const remedies = this.advised?.link === good.link ? this.advised.remedies : known?.advice.remedies;
    return remedies && ([...remedies].sort((a, b) => a.changes.length - b.changes.length)[0] ?? null);
  }

  note(): void {
    this.history.note(this.host.calculator.state.config);
  }

  get canUndo(): boolean {
    return this.history.canUndo;
  }

  get canRedo(): boolean {
    return this.history.canRedo;
  }

  move(to: -1 | 1): void {
    const config = this.history.move(to);
    if (!config) return;
    // A key that is held down costs one answer a frame.
    const goes = this.target !== undefined;
    this.target = config;
    if (goes) return;
    this.host.calculator.afterPaint(() => {
      this.host.calculator.setConfig(this.target!);
      this.target = undefined;
    });
  }

  apply(config: Config, applied = () => {}): void {
    const { calculator } = this.host;
    calculator.afterPaint(() => {
      calculator.setConfig(config, 'choice');
      applied();
    });
  }

  get comparing(): boolean {
    return this.against !== undefined;
  }

  compare(on = true): void {
    const { calculator } = this.host;
    const finished = calculator.state.engine?.finish?.();
    if (finished) {
      finished.then(() => this.compare(on)).catch(reason => calculator.fail(String(reason)));
      return;
    }
    calculator.afterPaint(() => {
      this.against = on ? this.shown : undefined;
      calculator.setConfig(calculator.state.config, 'choice');
    });
  }

  /** What is on the screen; an older configuration where the one in the fields cannot be computed. */
  private get shown(): { config: Config; good: GoodAnswer } | undefined {
    const { answered, state } = this.host.calculator;
    return answered && state.good && { config: answered, good: state.good };
  }

  swap(): void {
    this.host.calculator.afterPaint(() => {
      const before = this.against;
      if (!before) return;
      this.against = this.shown;
      this.host.calculator.setConfig(before.config, 'choice');
    });
  }

  /** A link was opened: one of two configurations holds the pinned one too. */
  opened(link: string): void {
    const { engine } = this.host.calculator.state;
    this.against = undefined;
    if (!engine || !/(^|&)[ab]\./.test(link)) return;
    const config = engine.readLink(link).against;
    const good = config && engine.estimate(config);
    if (config && good?.ok) this.against = { config, good };
  }

  /** The link of what stands in the fields; with the pinned configuration if there is one. */
  link(link: string): string {
    const { engine, config } = this.host.calculator.state;
    if (!this.against || !engine) return link;
    const both = engine.writeComparison(this.against.config, config);
    return both.ok ? both.link : link;
  }

  comparison(): TemplateResult | typeof nothing {
    const { good, units } = this.host.calculator.state;
    if (!good || !this.against || this.host.view !== 'full') return nothing;
    return html`<trainmem-compare .view=${this.host} .a=${this.against.good} .b=${good} .units=${units}></trainmem-compare>`;
  }

  private press = (event: KeyboardEvent): void => {
    const to = direction(event);
    if (!to || this.host.readonly) return;
    event.preventDefault();
    this.move(to);
  };

  render(): TemplateResult | typeof nothing {
    const { good, units } = this.host.calculator.state;
    if (!good) return nothing;
    return html`<trainmem-explore .view=${this.host} .good=${good} .units=${units}></trainmem-explore>`;
  }
}
