// What the pages of the site have in common: head and top. In site/*.html stand <!-- head: title | description --> and
// <!-- top -->; the pages of models (preset_pages.js) take the same.
import { createHash } from 'node:crypto';
import { firstPicture, previewTags } from './published.js';

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%231b1c1f'/%3E%3Crect x='6' y='7' width='9' height='5' rx='1' fill='%234ab3fe'/%3E%3Crect x='6' y='14' width='20' height='5' rx='1' fill='%23f5a630'/%3E%3Crect x='6' y='21' width='14' height='5' rx='1' fill='%2385c286'/%3E%3C/svg%3E";

/** What stands inline, for a content policy. */
export const hash = text => ` 'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The reader's own choice of light or dark (source/theme.ts), on every page and before anything is drawn. */
const theme = `try{const theme=localStorage.getItem('trainmem-theme');if(theme==='dark'||theme==='light')document.documentElement.style.colorScheme=theme}catch{}`;

/** A content policy; `scripts` and `styles` are the hashes of what else stands inline. */
export const policy = ({ scripts = '', styles = '' } = {}) =>
  `default-src 'none'; script-src 'self'${hash(theme)}${scripts} 'wasm-unsafe-eval'; style-src 'self'${styles}; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types lit-html trainmem trainmem-explore`;

const nav = [
  ['', 'Calculator'],
  ['method.html', 'Method'],
  ['accuracy.html', 'Accuracy'],
  ['embedding.html', 'Embedding'],
  ['link.html', 'Links'],
];

/** `title` and `description` are HTML already; `root` leads to the folder of the site. */
export const head = ({
  title,
  description,
  preview = title,
  type = 'article',
  path,
  image = firstPicture,
  root = './',
  styles = type === 'article' ? ['site.css', 'text.css'] : ['site.css'],
}) => `\
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="${policy()}" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>${title}</title>
<meta name="description" content="${description}" />
<meta property="og:title" content="${preview}" />
<meta property="og:description" content="${description}" />
<meta property="og:type" content="${type}" />
${previewTags({ path, image })}\
<meta name="color-scheme" content="light dark" />
<meta name="theme-color" content="#faf9f6" media="(prefers-color-scheme: light)" />
<meta name="theme-color" content="#131417" media="(prefers-color-scheme: dark)" />
<script>${theme}</script>
<link rel="icon" href="${icon}" />
${styles.map(name => `<link rel="stylesheet" href="${root}${name}" />`).join('\n')}`;

/** The way to the text, the name, the pages. `here` is the file of this page, and `heading` stands beside the name. */
export function top({ here, root = './', heading = '' }) {
  const links = nav.map(
    ([file, name]) => `<a href="${root}${file}"${file === here ? ' aria-current="page"' : ''}>${name}</a>`,
  );
  const [target, words] = here === '' ? ['calculator', 'the calculator'] : ['text', 'the text'];
  return `\
<a class="skip" href="#${target}">Skip to ${words}</a>
<header class="top">
<p class="brand"><a href="${root}">trainmem</a></p>
${heading}<nav aria-label="Site">${links.join('\n')}</nav>
</header>`;
}

export function frame() {
  return {
    name: 'frame',
    transformIndexHtml: {
      order: 'pre',
      handler(html, { filename }) {
        const here = filename.replace(/^.*\//, '').replace('index.html', '');
        return html
          .replace(/<!-- head: (.*?) \| (.*?) -->/, (_, title, description) =>
            head({ title, description, type: here === '' ? 'website' : 'article', path: here }),
          )
          .replace(/<!-- top(?:: (.*?))? -->/, (_, heading) =>
            top({ here, heading: heading ? `<h1>${heading}</h1>\n` : '' }),
          );
      },
    },
  };
}
