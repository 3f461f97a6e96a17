// What accompanies a calculator: its history for undo and redo, and the explore part, fetched once the page is idle.

import { html, type LitElement, nothing, type ReactiveController, type TemplateResult } from 'lit';
import type { Config } from './border.js';
import type { Remedy } from './explore/answers.js';
import { direction, History } from './history.js';
import type { View } from './views/view.js';

type Host = LitElement & View;

/** Milliseconds after the first answer: nothing that is fetched later competes with it. */
const later = 500;

export class Companion implements ReactiveController {
  private readonly history = new History();
  /** What would make it fit; undefined: not known yet, null: nothing does. */
  remedy: Remedy | null | undefined;
  private wanted = false;

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

  hostUpdated(): void {
    const { good } = this.host.calculator.state;
    if (!good || this.wanted || this.host.view !== 'full') return;
    this.wanted = true;
    setTimeout(() => import('./explore/explore.js').catch(() => undefined), later);
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
    if (config) this.host.calculator.use(config);
  }

  /** A configuration that was offered; one entry in the browser's history. */
  apply(config: Config): void {
    this.host.calculator.use(config, 'choice');
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
