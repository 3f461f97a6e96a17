// Unit tests of web/source; they stand in tests/web/unit and take their packages from here.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = path => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at('..'),
  cacheDir: at('../build/vitest'),
  resolve: {
    alias: {
      '@source': at('source'),
      ...Object.fromEntries(
        ['@lit-labs/ssr', 'fast-check', 'lit', 'vitest'].map(name => [name, at(`node_modules/${name}`)]),
      ),
    },
  },
  test: { include: ['tests/web/unit/*.test.ts'] },
});
