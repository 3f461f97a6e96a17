// What stands above the answer: a broken link, issues of the configuration, an engine that did not come.

import { css, html, nothing } from 'lit';
import type { Issue } from '../border.js';
import { pieces } from '../suggestions.js';
import { icons } from './icons.js';
import type { View } from './view.js';

const sentences = (issue: Issue) => html`${issue.message} <span class="muted">${issue.hint}</span>`;

/** The same, in the words of the fields once they are here. */
function said(view: View, issue: Issue) {
  const plainly = (text: string) => view.parts?.plainly(view, text) ?? text;
  return sentences({ ...issue, message: plainly(issue.message), hint: plainly(issue.hint) });
}

/** The same, with the words that the engine suggests to click. */
function repairs(view: View, issue: Issue) {
  if (view.readonly) return sentences(issue);
  const hint = pieces(issue).map(({ text, suggested }) =>
    suggested
      ? html`<button type="button" class="quiet" @click=${() => view.calculator.correctWord(issue, text)}>${text}</button>`
      : text,
  );
  return html`${issue.message} <span class="muted">${hint}</span>`;
}

function linkHead(notice: readonly Issue[]): string {
  if (notice.every(({ code }) => code === 'cut_off'))
    return 'This link may have lost its end. What it says is applied.';
  const { length } = notice;
  const parts = length > 40 ? 'Many parts' : length === 1 ? 'One part' : `${length} parts`;
  return `${parts} of this link could not be used. The rest is applied.`;
}

export function linkNotice(view: View) {
  const { notice, remark } = view.calculator.state;
  if (notice.length === 0 && !remark) return nothing;
  const warning = notice.length > 0 || remark?.warning;
  return html`<div class="notice ${warning ? 'warn' : ''}" role="status">
    ${warning ? icons.warning() : icons.check()}
    <div>
      ${
        notice.length > 0
          ? html`<p class="noticehead">${linkHead(notice)}</p>
              <ul>
                ${notice.map(issue => html`<li>${repairs(view, issue)}</li>`)}
              </ul>`
          : html`<p>
              ${remark?.text}
              ${
                remark?.action
                  ? html`<button type="button" class="quiet" @click=${() => view.calculator.acceptRemark()}>${remark.action}</button>`
                  : nothing
              }
            </p>`
      }
    </div>
    <button type="button" class="close" aria-label="Dismiss" @click=${() => view.calculator.dismissNotices()}>${icons.cross()}</button>
  </div>`;
}

export function issueSummary(view: View) {
  const { issues, good, engine } = view.calculator.state;
  if (issues.length === 0) return nothing;
  const known = new Set(engine?.presets.fields.map(field => field.path));
  return html`<div class="notice bad" role="status">
    ${icons.cross()}
    <div>
      <p class="noticehead">
        This configuration cannot be computed.${good ? ' Below stands the last one that could.' : ''}
      </p>
      <ul>
        ${issues.map(
          issue => html`<li>
            ${said(view, issue)}
            ${
              known.has(issue.path) && !view.readonly
                ? html`<button type="button" class="quiet" @click=${() => view.goTo(issue.path)}>Go to the field</button>`
                : nothing
            }
          </li>`,
        )}
      </ul>
      ${view.readonly ? nothing : html`<trainmem-ways-on .view=${view} .issues=${issues}></trainmem-ways-on>`}
    </div>
  </div>`;
}

export function failureNotice(view: View, retry: () => void) {
  const { failure, engine, good } = view.calculator.state;
  if (!failure) return nothing;
  const here = engine !== undefined && engine.finish === undefined;
  return html`<div class="notice bad" role="alert">
    ${icons.cross()}
    <div>
      <p class="noticehead">
        ${here ? 'The engine stopped on this configuration and was started again.' : `The engine could not be loaded, so nothing ${good ? 'else ' : ''}can be computed.`}
      </p>
      <p class="muted">${failure}</p>
      ${
        here
          ? nothing
          : html`<p class="muted">
              It is a WebAssembly module of this site. If the network is fine, the page’s content policy or the
              browser’s settings may refuse WebAssembly.
            </p>`
      }
      <p><button type="button" class="button" @click=${retry}>Try again</button></p>
    </div>
  </div>
  ${here || good ? nothing : html`<slot></slot>`}`;
}

export const noticeStyles = css`
  .notices {
    display: grid;
    gap: 12px;
  }
  .notices:not(:has(> *)) {
    display: none;
  }
  /* What stands between the tags is for when nothing is computed: at once here. */
  ::slotted(*) {
    animation: none !important;
  }
  .notice {
    --tone: var(--accent);
    display: flex;
    gap: 12px;
    padding: 14px 16px;
    background: color-mix(in oklab, var(--tone) 7%, var(--surface));
    border: 1px solid color-mix(in oklab, var(--tone) 38%, var(--surface));
    border-radius: var(--radius);
    font-size: 14px;
  }
  .notice.warn {
    --tone: var(--warn);
  }
  .notice.bad {
    --tone: var(--bad);
  }
  .notice > svg {
    flex: none;
    margin-block-start: 3px;
    color: var(--tone);
  }
  .notice > div {
    flex: 1;
    min-inline-size: 0;
    overflow-wrap: anywhere;
  }
  .noticehead {
    font-weight: 640;
  }
  .notice ul {
    display: grid;
    gap: 4px;
    margin-block-start: 4px;
  }
  /* Larger for the finger than it looks, so that the lines keep their distance. */
  .notice li .quiet {
    min-block-size: 0;
    margin-block: -10px;
    padding-block: 10px;
    font-size: inherit;
  }
  .notice p + p {
    margin-block-start: 6px;
  }
  .close {
    flex: none;
    display: grid;
    place-items: center;
    inline-size: 32px;
    block-size: 32px;
    margin: -6px -8px 0 0;
    padding: 0;
    border: 0;
    border-radius: 7px;
    background: none;
    cursor: pointer;
  }
  .close:hover {
    background: var(--sunken);
  }
`;
