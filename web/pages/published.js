// What previews of links and search engines need beside a title: whole addresses, and a picture.
import { spawnSync } from 'node:child_process';

const given = process.env.TRAINMEM_ADDRESS ?? '';
/** Where the site is published, if that is known. */
export const address = given.replace(/\/*$/, given ? '/' : '');

/** Pictures for previews need rsvg-convert; without it the pages of models have the SVG alone. */
const draws = spawnSync('rsvg-convert', ['--version'], { stdio: 'ignore' }).status === 0;

/** The picture of pages that have none of their own: the first visit's model. */
export const firstPicture = address && draws ? `${address}m/llama2-7b/bar.png` : '';

/** `image` has 1200 x 630 pixels. */
export function previewTags({ site = address, path, image }) {
  const place = `<meta property="og:url" content="${site}${path}" />\n<link rel="canonical" href="${site}${path}" />\n`;
  const picture = `<meta property="og:image" content="${image}" />
<meta property="og:image:width" content="1200" /><meta property="og:image:height" content="630" />
<meta name="twitter:card" content="summary_large_image" />\n`;
  return (site ? place : '') + (image ? picture : '');
}
