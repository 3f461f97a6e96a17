// Writes sbom.json: which packages the built page contains, as the lockfile has them, in the CycloneDX format.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const lockfile = new URL('../package-lock.json', import.meta.url);

/** Packages that the page is built from, without tools. */
export function billOfMaterials({ packages } = JSON.parse(readFileSync(lockfile, 'utf8'))) {
  const components = Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path, { version, license, integrity }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      const [algorithm, digest] = integrity.split('-', 2);
      return {
        type: 'library',
        name,
        version,
        licenses: [{ license: { id: license } }],
        purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
        hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }],
      };
    });
  const metadata = { component: { type: 'application', name: 'trainmem' } };
  return { bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, metadata, components };
}

export function writeBillOfMaterials() {
  return {
    name: 'bill-of-materials',
    writeBundle({ dir }) {
      writeFileSync(join(dir, 'sbom.json'), `${JSON.stringify(billOfMaterials(), null, 1)}\n`);
    },
  };
}
