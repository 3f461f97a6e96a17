// The reader's own card: what hbm_bandwidth --json printed, pasted or dropped, becomes the measured bandwidth.

import { css, html, nothing } from 'lit';
import type { Issue } from '../border.js';
import { significant } from '../format.js';
import type { View } from '../views/view.js';

const path = '/gpu/measured_bandwidth_gb_per_s';
const largestFile = 1 << 20;

/** What became of the last text, for each element of a page. */
const outcomes = new WeakMap<View, { issues: Issue[]; done: string }>();

function tell(view: View, issues: Issue[], done = ''): void {
  outcomes.set(view, { issues, done });
  view.calculator.redraw();
}

/** True if the text was a measurement and is in force now. */
function takeMeasurement(view: View, text: string): boolean {
  const answer = view.calculator.state.engine?.readMeasurement(text);
  if (!answer) return false;
  if (!answer.ok) {
    tell(view, answer.issues);
    return false;
  }
  view.calculator.set(path, answer.bandwidth_gb_per_s);
  const name = answer.device || 'Your GPU';
  tell(view, [], `${name}: ${significant(answer.bandwidth_gb_per_s, 4)} GB/s${answer.what ? `, ${answer.what}` : ''}.`);
  return true;
}

async function takeFile(view: View, file: File | undefined): Promise<void> {
  if (!file) return;
  if (file.size > largestFile) {
    tell(view, [{ code: 'too_long', path: '', message: 'This file is not a measurement.', hint: '' }]);
    return;
  }
  takeMeasurement(view, await file.text());
}

export function ownMeasurement(view: View) {
  if (view.readonly) return nothing;
  const { config } = view.calculator.state;
  const given = config.gpu?.measured_bandwidth_gb_per_s;
  const { issues, done } = outcomes.get(view) ?? { issues: [], done: '' };
  const submit = (event: Event) => {
    const area = (event.currentTarget as Element).parentElement!.parentElement!.querySelector('textarea')!;
    if (takeMeasurement(view, area.value)) area.value = '';
  };
  return html`<details class="own" ?open=${issues.length > 0}>
    <summary>Use the bandwidth of your own card</summary>
    <div
      class="ownbody"
      @dragover=${(event: DragEvent) => event.preventDefault()}
      @drop=${(event: DragEvent) => {
        event.preventDefault();
        event.stopPropagation();
        void takeFile(view, event.dataTransfer?.files[0]);
      }}
    >
      <p class="muted">
        Run <code>build/native/hbm_bandwidth --json</code> on it and paste what it prints, or drop the file here. Nothing is
        sent anywhere.
      </p>
      <label>
        <span class="visually-hidden">Measurement as JSON</span>
        <textarea
          rows="4"
          spellcheck="false"
          placeholder='{"bandwidth_gb_per_s": ...}'
          aria-invalid=${issues.length > 0}
          aria-describedby="ownissues"
        ></textarea>
      </label>
      <p class="ownbuttons">
        <button type="button" class="button" @click=${submit}>Use this measurement</button>
        ${
          given === undefined
            ? nothing
            : html`<button
                type="button"
                class="quiet"
                @click=${() => {
                  view.calculator.reset(path);
                  tell(view, []);
                }}
              >
                Back to the preset’s bandwidth
              </button>`
        }
      </p>
      <div id="ownissues" role="status">
        ${issues.map(
          issue => html`<p class="problem">
            ${issue.message} ${issue.path ? html`<code>${issue.path}</code>` : nothing} <span class="muted">${issue.hint}</span>
          </p>`,
        )}
        ${done && given !== undefined ? html`<p>${done}</p>` : nothing}
      </div>
    </div>
  </details>`;
}

export const measurementStyles = css`
  .own {
    margin-block-start: 12px;
  }
  .ownbody {
    display: grid;
    gap: 8px;
    max-inline-size: 76ch;
    padding-block: 8px;
    font-size: 13.5px;
  }
  .own textarea {
    inline-size: 100%;
    padding: 8px 10px;
    border: 1px solid var(--outline);
    border-radius: 8px;
    background: var(--sunken);
    color: inherit;
    font: 13px/1.5 var(--mono);
    resize: vertical;
  }
  .ownbuttons {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 16px;
  }
  .problem {
    padding-inline-start: 10px;
    border-inline-start: 3px solid var(--bad);
  }
`;
