// Builds the pages of site/ and the element into build/site. Everything is relative, so the folder can be served
// from any path; trainmem-calculator.js keeps its name, for it is what other sites load.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { prerenderAccuracy } from './pages/accuracy.js';
import { writeBillOfMaterials } from './pages/bill_of_materials.js';
import { fill } from './pages/fill.js';
import { frame } from './pages/frame.js';
import { headStart } from './pages/head_start.js';
import { methodRows } from './pages/method_rows.js';
import { offline } from './pages/offline.js';
import { prerender } from './pages/prerender.js';
import { presetPagesPlugin } from './pages/preset_pages.js';
import { serviceWorker } from './pages/service_worker.js';

const at = path => fileURLToPath(new URL(path, import.meta.url));
const engine = process.env.TRAINMEM_ENGINE ?? at('../build/wasm/trainmem.js');

// Indentation inside templates is of no use to browsers, nor are blanks and comments in style sheets.
const squeezeCss = text =>
  text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replace(/: /g, ':')
    .replace(/;}/g, '}');
const squeeze = {
  name: 'squeeze-templates',
  enforce: 'pre',
  transform(code, id) {
    if (!id.startsWith(at('source/'))) return undefined;
    const css = code.replace(/(?<= = css`)[^`]*(?=`;)/g, squeezeCss);
    return { code: css.replace(/\n\s+/g, '\n'), map: null };
  },
};

// Lit announces its version and keeps a table in global variables. A page that embeds the element gets none of them.
const noGlobals = {
  name: 'no-globals',
  transform(code, id) {
    if (!/node_modules\/(@lit|lit)/.test(id)) return undefined;
    return {
      code: code
        .replace(/\(\w+\.\w+Versions\?\?=\[\]\)\.push\("[^"]*"\)/g, '0')
        .replace(/,\w+\.litPropertyMetadata\?\?=new WeakMap;/, ';const litPropertyMetadata=new WeakMap;'),
      map: null,
    };
  },
};

// What is fetched later imports little beside the calculator, which is there: nothing is fetched ahead of it.
const plainImports = {
  name: 'plain-imports',
  enforce: 'pre',
  load: id => (id.endsWith('vite/preload-helper.js') ? 'export const __vitePreload = load => load();' : undefined),
};

/** A module, and all that it imports statically. */
function withImports(root, context) {
  const found = new Set();
  const visit = id => {
    if (found.has(id)) return;
    found.add(id);
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) visit(imported);
  };
  visit(at(root));
  return found;
}

/** One file with a module of source/ and all that it imports, less what a file of a higher priority has. */
function fileOf(module, priority) {
  const name = (id, context) => (withImports(`source/${module}.ts`, context).has(id) ? module : null);
  return { name, priority, debugName: module };
}

export default defineConfig({
  root: at('../site'),
  base: './',
  publicDir: at('../site/public'),
  plugins: [
    squeeze,
    noGlobals,
    plainImports,
    frame(),
    fill(engine),
    methodRows(engine),
    prerender(engine),
    headStart([squeeze]),
    prerenderAccuracy(),
    presetPagesPlugin(engine),
    serviceWorker(),
    writeBillOfMaterials(),
    offline(engine, [squeeze, noGlobals]),
  ],
  cacheDir: at('../build/vite'),
  resolve: {
    alias: {
      '@engine-wasm': `${engine.replace(/\.js$/, '.wasm')}?url`,
      '@engine': engine,
      '@calculator': at('source'),
    },
  },
  worker: { format: 'es', rolldownOptions: { output: { entryFileNames: 'assets/[name]-[hash].js' } } },
  build: {
    outDir: process.env.TRAINMEM_SITE ?? at('../build/site'),
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: {
      input: Object.fromEntries(
        ['index', 'embed', 'method', 'accuracy', 'embedding', 'link'].map(name => [name, at(`../site/${name}.html`)]),
      ),
      output: {
        // What is seen first, and the parts that follow it; what is fetched later shares both.
        codeSplitting: { groups: [fileOf('trainmem-calculator', 2), fileOf('parts', 1)] },
        entryFileNames: '[name].js',
        chunkFileNames: chunk => (chunk.name === 'trainmem-calculator' ? '[name].js' : 'assets/[name]-[hash].js'),
        assetFileNames: 'assets/[name]-[hash][extname]',
      },
    },
  },
});
