// Builds the pages of site/ and the element into build/site. Everything is relative, so the folder can be served
// from any path; trainmem-calculator.js keeps its name, for it is what other sites load.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const at = path => fileURLToPath(new URL(path, import.meta.url));
const engine = process.env.TRAINMEM_ENGINE ?? at('../build/wasm/trainmem.js');

export default defineConfig({
  root: at('../site'),
  base: './',
  publicDir: at('../site/public'),
  cacheDir: at('../build/vite'),
  resolve: {
    alias: {
      '@engine-wasm': `${engine.replace(/\.js$/, '.wasm')}?url`,
      '@engine': engine,
      '@calculator': at('source'),
    },
  },
  build: {
    outDir: process.env.TRAINMEM_SITE ?? at('../build/site'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: at('../site/index.html'), embed: at('../site/embed.html') },
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: chunk => (chunk.name === 'trainmem-calculator' ? '[name].js' : 'assets/[name]-[hash].js'),
        assetFileNames: 'assets/[name]-[hash][extname]',
      },
    },
  },
});
