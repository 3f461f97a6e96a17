// <trainmem-explore>: the panels that try other configurations. Fetched when the calculator has answered and is idle.
//
// Inside <trainmem-calculator>, which hands it itself as `view`. Whatever costs many estimates runs beside the page and
// is dropped when an edit makes it old: an edit never waits for it.

import { css, html, LitElement, nothing, type PropertyValues } from 'lit';
import type { Config, GoodAnswer } from '../border.js';
import type { Units } from '../format.js';
import { base } from '../styles/base.js';
import { tokens } from '../styles/tokens.js';
import { barStyles } from '../views/bar.js';
import type { View } from '../views/view.js';
import { advicePanel, adviceStyles } from './advice_panel.js';
import type { Advice } from './answers.js';
import { Asker } from './asker.js';
import type { Explorer } from './panel.js';

/** Milliseconds without an edit before anything is asked. */
const pause = 120;

class TrainmemExplore extends LitElement implements Explorer {
  static override properties = { view: { attribute: false }, good: { attribute: false }, units: { type: String } };
  static override styles = [
    tokens,
    base,
    barStyles,
    adviceStyles,
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
      .fit {
        display: inline-flex;
        align-items: center;
        gap: 4px;
        font-size: 12.5px;
        font-weight: 600;
        white-space: nowrap;
      }
      .fit.fits {
        color: var(--good);
      }
      .fit.tight {
        color: var(--warn);
      }
      .fit.does_not_fit {
        color: var(--bad);
      }
      .done {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 6px 14px;
        padding: 10px 16px;
        border: 1px solid var(--hairline);
        border-radius: var(--radius);
        background: var(--surface);
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
  private done = '';

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

  redraw(): void {
    this.requestUpdate();
  }

  apply(config: Config, words: string): void {
    this.view.companion.apply(config);
    this.done = words;
    this.requestUpdate();
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('.done button')?.focus());
  }

  private undo = (): void => {
    this.view.companion.move(-1);
    this.done = '';
    this.requestUpdate();
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('#advice .button')?.focus());
  };

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.timer);
    this.loaded?.close();
    this.loaded = undefined;
    this.asked = '';
  }

  protected override willUpdate(properties: PropertyValues<this>): void {
    if (!properties.has('good') || this.good.link === this.asked) return;
    this.asked = this.good.link;
    this.view.companion.remedy = undefined;
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
    this.view.companion.remedy = answer.advice.remedy ?? null;
    this.requestUpdate();
    this.view.requestUpdate();
  };

  protected override render() {
    return html`<div class="column">
      ${
        this.done
          ? html`<div class="done" role="status">
              <p>Applied: ${this.done}.</p>
              <button type="button" class="button" @click=${this.undo}>Undo</button>
            </div>`
          : nothing
      }
      ${advicePanel(this, this.advice, this.answered !== this.good.link)}
    </div>`;
  }
}

if (!customElements.get('trainmem-explore')) customElements.define('trainmem-explore', TrainmemExplore);
