// The page inside an iframe: one element with the configuration of the fragment, which tells its height to the host.
//
// embed.html?view=bar&theme=dark&units=GB&readonly#v=1&model=llama2-7b&gpu=h100-sxm&end
// To the parent, whoever that is: {type: 'trainmem:height', height}. A height is no secret, and nothing else is sent.
// Nothing is received.

import './trainmem-calculator.js';

const lowest = 120;
/** Far more than the full calculator as it opens on a phone; what is taller scrolls inside. */
const highest = 20000;

const settings = new URLSearchParams(location.search);
const element = document.createElement('trainmem-calculator');
element.eager = true;
for (const name of ['view', 'theme', 'units', 'readonly']) {
  const value = settings.get(name);
  if (value !== null) element.setAttribute(name, value);
}
const open = () => element.setAttribute('config', location.hash.slice(1));
if (location.hash.length > 1) open();
addEventListener('hashchange', open);

// Style sheets would be one more request; a constructed one is not inline style.
const sheet = new CSSStyleSheet();
sheet.replaceSync('body { margin: 0; overflow-x: hidden } trainmem-calculator { padding: 1px }');
document.adoptedStyleSheets = [sheet];
document.body.replaceChildren(element);

let told = 0;
new ResizeObserver(() => {
  const height = Math.min(highest, Math.max(lowest, Math.ceil(element.getBoundingClientRect().height)));
  if (height === told) return;
  told = height;
  parent.postMessage({ type: 'trainmem:height', height }, '*');
}).observe(element);
