// The panels that stand closed below the answer: three counters, speed, textbook formulas. One line each says the
// most; what they hold is fetched when the first of them is opened.

import { html, type ReactiveController, type ReactiveControllerHost, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { Result } from '../border.js';
import { duration, gigabytes, percent, significant, type Units } from '../format.js';
import { fold } from './fold.js';
import type { View } from './view.js';

type Host = ReactiveControllerHost & View & { renderRoot: HTMLElement | DocumentFragment };
type Name = 'ladder' | 'speed' | 'textbook';

const titles: Record<Name, string> = {
  ladder: 'Three counters, three numbers',
  speed: 'How fast it can be',
  textbook: 'What the textbook formulas say',
};

const gists: Record<Name, (result: Result, units: Units) => string> = {
  ladder: ({ allocated, reserved, device }, units) =>
    `allocated ${gigabytes(allocated, units)}, reserved ${gigabytes(reserved.expected, units)}, device ${gigabytes(device.expected, units)}`,
  speed({ bandwidth }) {
    const rate = bandwidth.rates.at(-1);
    if (!rate) return 'the memory bandwidth of this GPU is not known';
    const share = rate.model_flops_utilization > 0 ? `, ${percent(rate.model_flops_utilization, 1)} MFU` : '';
    return `a step takes ${duration(rate.step_seconds)} or more: at most ${significant(rate.tokens_per_second, 4)} tokens/s${share}`;
  },
  textbook({ textbook, allocated }, units) {
    const values = textbook.map(line => line.bytes);
    return `from ${gigabytes(Math.min(...values), units)} to ${gigabytes(Math.max(...values), units)}, where this step allocates ${gigabytes(allocated, units)}`;
  },
};

export class ClosedPanels implements ReactiveController {
  private loaded: typeof import('../details/details.js') | undefined;
  private asked = false;
  private failed = false;

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  hostUpdated(): void {
    const wanted = Object.keys(titles).some(name => this.host.open.has(name));
    if (wanted && !this.asked) void this.fetch();
    this.asked = wanted || this.loaded !== undefined;
  }

  render(result: Result): TemplateResult {
    const { units } = this.host.calculator.state;
    const panel = (name: Name) => {
      const gist = guard([result, units], () => gists[name](result, units));
      return fold(this.host, name, titles[name], gist, () => this.body(name, result));
    };
    return html`${panel('ladder')} ${panel('speed')} ${result.textbook.length > 0 ? panel('textbook') : ''}`;
  }

  private body(name: Name, result: Result): unknown {
    if (this.loaded) return this.loaded.bodies[name](this.host, result);
    return html`<p class="muted" role="status">
      ${this.failed ? 'This part could not be fetched. Check the network, then close it and open it again.' : 'Fetching \u2026'}
    </p>`;
  }

  private async fetch(): Promise<void> {
    try {
      const { engine } = this.host.calculator.state;
      const [loaded] = await Promise.all([import('../details/details.js'), engine?.finish?.()]);
      const root = this.host.renderRoot as ShadowRoot;
      const sheets = loaded.styles.map(style => style.styleSheet).filter(sheet => sheet !== undefined);
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, ...sheets];
      this.loaded = loaded;
    } catch {
      this.failed = true;
    }
    this.host.requestUpdate();
  }
}
