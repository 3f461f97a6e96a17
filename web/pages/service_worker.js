// Writes service-worker.js: which files make the calculator and the pages of text, under a name that changes with them.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function serviceWorker() {
  return {
    name: 'service-worker',
    writeBundle({ dir }, bundle) {
      const files = Object.keys(bundle)
        .filter(name => /^([\w-]+\.(html|js)|assets\/.*)$/.test(name))
        .sort();
      const hash = createHash('sha256');
      for (const name of files) hash.update(name).update(readFileSync(join(dir, name)));
      const list = ['./', ...files.filter(name => name !== 'index.html').map(name => `./${name}`)];
      const source = readFileSync(fileURLToPath(new URL('../source/service_worker.js', import.meta.url)), 'utf8');
      writeFileSync(
        join(dir, 'service-worker.js'),
        source
          .replace("'VERSION'", () => JSON.stringify(hash.digest('hex').slice(0, 12)))
          .replace("['FILES']", () => JSON.stringify(list)),
      );
    },
  };
}
