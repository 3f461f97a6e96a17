// Fetches the parts of a calculator that are not seen first (parts.ts), once its answer is on the screen.

import { html, type LitElement, nothing, type ReactiveController, type TemplateResult } from 'lit';
import { afterPaint } from './after_paint.js';
import type { Result } from './border.js';
import { icons } from './views/icons.js';
import type { View } from './views/view.js';

export type Parts = typeof import('./parts.js');

type Host = LitElement & View & { page: boolean };

export class LaterParts implements ReactiveController {
  here: Parts | undefined;
  private pending: Promise<void> | undefined;
  private failed = false;
  /** Asked for once without a reader's sign: a second time would come between a reader and "Try again". */
  private wanted = false;
  private rehearsed = false;
  private panelsOf: ReturnType<Parts['panelsOf']> | undefined;
  /** Pieces that stand there: each is made in a task of its own, once the one before is on the screen. */
  private pieces = 0;
  private waits = false;

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  hostUpdated(): void {
    const { good, issues } = this.host.calculator.state;
    if (this.awaited && !this.wanted && (good || issues.length > 0)) {
      this.wanted = true;
      afterPaint(this.fetch);
    }
    if (this.unfinished && !this.waits) {
      this.waits = true;
      afterPaint(() => {
        this.waits = false;
        this.pieces += 1;
        this.host.requestUpdate();
      });
    }
    if (!this.here || !good || !this.host.page || this.unfinished || this.rehearsed) return;
    this.rehearsed = true;
    this.here.rehearse(this.host);
  }

  /** Is something of them still to come? */
  get awaited(): boolean {
    return this.host.view !== 'bar' && !this.here && !this.failed;
  }

  /** Is a piece of them still to be drawn? */
  get unfinished(): boolean {
    return this.host.calculator.state.engine !== undefined && this.here !== undefined && this.pieces < this.here.pieces;
  }

  /** Asks for them, again where that failed. */
  fetch = (): Promise<void> => {
    this.pending ??= this.load();
    return this.pending;
  };

  private async load(): Promise<void> {
    const load = () => import('./parts.js');
    this.failed = false;
    try {
      const parts = await load().catch(load);
      // What they hold is made in one task and drawn in another: an input finds its turn between them.
      await new Promise(resolve => setTimeout(resolve));
      this.take(parts);
    } catch {
      this.failed = true;
      this.pending = undefined;
    }
    this.host.requestUpdate();
  }

  private take(parts: Parts): void {
    const root = this.host.renderRoot as ShadowRoot;
    const sheets = parts.styles.map(style => style.styleSheet).filter(sheet => sheet !== undefined);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, ...sheets];
    this.panelsOf = parts.panelsOf(this.host);
    // An embed takes its place on another's page at once.
    if (!this.host.page) this.pieces = parts.pieces;
    this.here = parts;
  }

  /** Does what needs them, at once or when they have come; false: they did not. */
  async use(act: (parts: Parts) => void): Promise<boolean> {
    if (!this.here) await this.fetch();
    if (this.here) act(this.here);
    return this.here !== undefined;
  }

  fields(): TemplateResult | typeof nothing {
    return this.here?.fields(this.host, this.pieces) ?? nothing;
  }

  panels(result: Result): TemplateResult | typeof nothing {
    return this.panelsOf?.(result, this.pieces) ?? nothing;
  }

  /** What stands above the answer where they did not come. */
  notice(): TemplateResult | typeof nothing {
    if (!this.failed) return nothing;
    return html`<div class="notice warn" role="status">
      ${icons.warning()}
      <div>
        <p class="noticehead">The fields and the details could not be fetched. The answer stands without them.</p>
        <p><button type="button" class="button" @click=${this.fetch}>Try again</button></p>
      </div>
    </div>`;
  }
}
