// What previews of links read: whole addresses where the site is published, and nothing that leads nowhere.
import { describe, expect, test } from 'vitest';
import { previewTags } from '../../../web/pages/published.js';

describe('previews of links', () => {
  test('name the page and its picture by whole addresses', () => {
    const site = 'https://example.org/trainmem/';
    const tags = previewTags({ site, path: 'm/llama2-7b/', image: `${site}m/llama2-7b/bar.png` });
    expect(tags).toContain('<link rel="canonical" href="https://example.org/trainmem/m/llama2-7b/" />');
    expect(tags).toContain('"og:url" content="https://example.org/trainmem/m/llama2-7b/"');
    expect(tags).toContain('"og:image" content="https://example.org/trainmem/m/llama2-7b/bar.png"');
    expect(tags).toContain('"og:image:width" content="1200"');
  });

  test('say nothing of an address or a picture that is not there', () => {
    expect(previewTags({ site: '', path: 'method.html', image: '' })).toBe('');
  });
});
