// Unit tests of web/source; they stand in tests/web/unit and take their packages from here.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = path => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at('..'),
  cacheDir: at('../build/vitest'),
  resolve: {
    alias: { '@source': at('source'), 'fast-check': at('node_modules/fast-check'), vitest: at('node_modules/vitest') },
  },
  test: { include: ['tests/web/unit/*.test.ts'] },
});
