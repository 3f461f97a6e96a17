// offline.html: the calculator in one file that works from a disk. Script, style sheet and engine stand inside; the
// engine is compressed, and unpacked by the browser. Its content policy names the two by their hashes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { hash } from './frame.js';

const at = path => fileURLToPath(new URL(path, import.meta.url));

/** The element and all that it would load later, as the text of one script. */
async function script(engineModule, plugins) {
  const wasm = gzipSync(readFileSync(engineModule.replace(/\.js$/, '.wasm')), { level: 9 }).toString('base64');
  const inlineEngine = {
    name: 'inline-engine',
    resolveId: id => (id === '@engine-wasm' ? `\0${id}` : undefined),
    load: id => (id === '\0@engine-wasm' ? `export default 'data:application/gzip;base64,${wasm}'` : undefined),
  };
  const { output } = await build({
    configFile: false,
    logLevel: 'warn',
    plugins: [inlineEngine, ...plugins],
    resolve: { alias: { '@engine': engineModule } },
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: { input: at('../source/trainmem-calculator.ts'), output: { codeSplitting: false } },
    },
  });
  // "</script" inside a string would end the element.
  return output[0].code.replaceAll('</script', '<\\/script');
}

export function offline(engineModule, plugins) {
  return {
    name: 'offline',
    async writeBundle({ dir }) {
      const code = await script(engineModule, plugins);
      const page = readFileSync(join(dir, 'index.html'), 'utf8');
      const [, styles] = page.match(/<style>([\s\S]*?)<\/style>/);
      const policy = `default-src 'none'; script-src${hash(code)} 'wasm-unsafe-eval'; style-src${hash(styles)}; img-src data:; connect-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types lit-html`;
      const whole = page
        .replace(/(http-equiv="Content-Security-Policy"\s+content=")[^"]*/, (_, head) => head + policy)
        .replace(/<link rel="(?:modulepreload|preload)"[^>]*>\s*/g, '')
        .replace(/<script[^>]*>[\s\S]*?<\/script>\s*/g, '')
        .replace(/ recorded="[^"]*"/, '') // the engine itself is here
        .replace(/<template[\s\S]*?<\/template>\s*/, '')
        .replace(/<nav[\s\S]*?<\/nav>\s*/, '')
        .replace(/<footer[\s\S]*?<\/footer>\s*/, '')
        .replace('</body>', () => `<script type="module">${code}</script>\n</body>`);
      writeFileSync(join(dir, 'offline.html'), whole);
    },
  };
}
