// <trainmem-ways-on>: inside the notice of a configuration that cannot be computed, one button for each way on.

import { css, html, LitElement, nothing, type PropertyValues } from 'lit';
import type { Answer, Config, Issue } from '../border.js';
import { gigabytes } from '../format.js';
import { base } from '../styles/base.js';
import { tokens } from '../styles/tokens.js';
import type { View } from '../views/view.js';
import { fitBadge, fitStyles, settingWords } from './go_and_say.js';
import { type Way, waysOn } from './ways_on.js';

/** Milliseconds of trying, between which the page draws and listens. */
const slice = 8;

class TrainmemWaysOn extends LitElement {
  static override properties = { view: { attribute: false }, issues: { attribute: false } };
  static override styles = [
    tokens,
    base,
    fitStyles,
    css`
      :host {
        background: none;
        font-size: inherit;
      }
      .head {
        margin-block: 10px 6px;
        font-size: inherit;
        font-weight: 640;
      }
      ul {
        display: grid;
        gap: 8px;
      }
      li {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr);
        gap: 4px 12px;
        align-items: center;
      }
      .then {
        display: inline-flex;
        flex-wrap: wrap;
        gap: 0 10px;
        align-items: center;
      }
    `,
  ];

  declare view: View & LitElement;
  declare issues: Issue[];

  private ways: Way[] | undefined;

  protected override willUpdate(properties: PropertyValues<this>): void {
    if (!properties.has('issues')) return;
    this.ways = undefined;
    this.find();
  }

  private async find(): Promise<void> {
    const { issues } = this;
    const { state } = this.view.calculator;
    const { engine, config } = state;
    if (!engine) return;
    const outdated = () => this.issues !== issues || !this.isConnected;
    let since = Number.NEGATIVE_INFINITY;
    const estimate = async (trial: Config): Promise<Answer> => {
      if (performance.now() - since > slice) {
        await new Promise(resolve => setTimeout(resolve));
        since = performance.now();
      }
      if (outdated()) throw new Error('outdated');
      return engine.estimate(trial);
    };
    try {
      const ways = await waysOn({ estimate, presets: engine.presets }, config);
      if (outdated()) return;
      this.ways = ways;
      this.requestUpdate();
    } catch {
      // Another configuration stands there, or the engine stopped, which the page says itself.
    }
  }

  private words({ sets, use }: Way): string {
    const fields = this.view.calculator.state.engine?.presets.fields ?? [];
    return use ? `Use ${use}` : sets.map(set => settingWords(fields, set)).join(', ');
  }

  private take(way: Way): void {
    const { view } = this;
    view.calculator.applyWithUndo(way.config, this.words(way));
    view.updateComplete.then(() => view.renderRoot.querySelector<HTMLElement>('.notice button')?.focus());
  }

  protected override render() {
    if (!this.ways?.length) return nothing;
    const { units } = this.view.calculator.state;
    return html`<p class="head" id="ways">What would work</p>
      <ul aria-labelledby="ways">
        ${this.ways.map(way => {
          const words = this.words(way);
          const { device, verdict } = way.after.result;
          return html`<li>
            <button type="button" class="button" aria-label="Apply: ${words}" @click=${() => this.take(way)}>Apply</button>
            <p>
              ${words}.
              <span class="then"><span class="muted">Then ${gigabytes(device.expected, units)}</span>${fitBadge(verdict)}</span>
            </p>
          </li>`;
        })}
      </ul>`;
  }
}

if (!customElements.get('trainmem-ways-on')) customElements.define('trainmem-ways-on', TrainmemWaysOn);
