// The embedding guide comes to life: its snippets carry this site's own address and a button that copies them, and what
// the first of them embeds is shown above it.

import { copyText } from './clipboard.js';

const placeholder = 'https://example.org/trainmem/';
const views = ['bar', 'compact', 'full'];

function button(words: string, press: (button: HTMLButtonElement) => void): HTMLButtonElement {
  const made = Object.assign(document.createElement('button'), { type: 'button', textContent: words });
  made.addEventListener('click', () => press(made));
  return made;
}

async function copy(code: Element, made: HTMLButtonElement): Promise<void> {
  const copied = await copyText(code.textContent ?? '');
  made.textContent = copied ? 'Copied' : 'Select it by hand';
  setTimeout(() => (made.textContent = 'Copy'), 1600);
}

/** The view of the calculator that is shown, in the snippet beneath it too. */
function showViews(shown: Element, code: Element): void {
  const choices = document.createElement('p');
  choices.className = 'choices';
  const choose = (view: string) => {
    shown.setAttribute('view', view);
    code.textContent = (code.textContent ?? '').replace(/view="\w+"/, `view="${view}"`);
    for (const one of choices.children) one.setAttribute('aria-pressed', String(one.textContent === view));
  };
  choices.append(...views.map(view => button(view, () => choose(view))));
  shown.parentElement?.before(choices);
  choose('bar');
}

for (const words of document.querySelectorAll('.by-hand')) words.remove();
for (const code of document.querySelectorAll('code'))
  code.textContent = (code.textContent ?? '').replaceAll(placeholder, new URL('./', location.href).href);
for (const code of document.querySelectorAll('pre > code')) {
  const frame = document.createElement('div');
  frame.className = 'snippet';
  code.parentElement?.replaceWith(frame);
  frame.append(
    code.parentElement!,
    button('Copy', made => copy(code, made)),
  );
}
const shown = document.querySelector('trainmem-calculator');
const code = document.querySelector('pre > code');
if (shown && code) showViews(shown, code);
