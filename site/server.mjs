// A static file server for site/serve and the browser tests, with the media types and headers that the hosted site
// has. No dependencies.
//
//   node site/server.mjs --folder build/site [--port 8080] [--host 127.0.0.1]
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';

const mediaTypes = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.xml': 'application/xml; charset=utf-8',
};

// Embedding pages live on other origins: assets are readable from anywhere, and framing is allowed on purpose.
// There are no cookies, no storage and no action that a click could be stolen for.
const headersOf = ({ scripts, styles }) => ({
  'Access-Control-Allow-Origin': '*',
  'Content-Security-Policy':
    `default-src 'none'; script-src 'self'${scripts} 'wasm-unsafe-eval'; style-src 'self'${styles}; img-src 'self' data:; ` +
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; " +
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types lit-html trainmem trainmem-explore",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
});

// What static hosts compress on the way.
const compressible = new Set(['.css', '.html', '.js', '.json', '.mjs', '.svg', '.txt', '.wasm', '.xml']);

// Names that the build derives from the contents, as index-B1xYz_09.js, never change their contents.
const hashedName = /-[\w-]{8}\.\w+$/;

/** A file of `folder` for a request path; null where there is none. Paths never leave the folder. */
async function findFile(folder, requestPath) {
  let path;
  try {
    path = normalize(decodeURIComponent(requestPath));
  } catch {
    return null;
  }
  if (path.includes('\0')) return null;
  let file = join(folder, path);
  if (file !== folder && !file.startsWith(folder + sep)) return null;
  let information = await stat(file).catch(() => null);
  if (information?.isDirectory()) {
    file = join(file, 'index.html');
    information = await stat(file).catch(() => null);
  }
  return information?.isFile() ? { file, size: information.size } : null;
}

/** The hashes, in the policy of the first page, of what stands inline there: scripts, then style sheets. */
async function inlineHashes(folder) {
  const html = await readFile(join(folder, 'index.html'), 'utf8').catch(() => '');
  const hashes = directive => (html.match(new RegExp(`${directive} [^;]*`))?.[0].match(/ 'sha256-[^']+'/g) ?? []).join('');
  return { scripts: hashes('script-src'), styles: hashes('style-src') };
}

/** Starts a server; gives {server, address}. Port 0 takes a free one. */
export async function serve({ folder, port = 0, host = '127.0.0.1', contentSecurityPolicy = true }) {
  const root = resolve(folder);
  const server = createServer(async (request, response) => {
    for (const [name, value] of Object.entries(headersOf(await inlineHashes(root)))) {
      if (contentSecurityPolicy || name !== 'Content-Security-Policy') response.setHeader(name, value);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { Allow: 'GET, HEAD' }).end();
      return;
    }
    const found = await findFile(root, (request.url ?? '/').split(/[?#]/, 1)[0]);
    if (!found) {
      response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('There is no such page.\n');
      return;
    }
    const packed = compressible.has(extname(found.file)) && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    response.writeHead(200, {
      'Content-Type': mediaTypes[extname(found.file)] ?? 'application/octet-stream',
      ...(packed ? { 'Content-Encoding': 'gzip' } : { 'Content-Length': found.size }),
      Vary: 'Accept-Encoding',
      'Cache-Control': hashedName.test(found.file) ? 'public, max-age=31536000, immutable' : 'no-cache',
    });
    const parts = packed ? [createGzip(), response] : [response];
    if (request.method === 'HEAD') response.end();
    else pipeline([createReadStream(found.file), ...parts], error => error && response.destroy());
  });
  await new Promise((done, failed) => server.once('error', failed).listen(port, host, done));
  return { server, address: `http://localhost:${server.address().port}/` };
}

async function main(words) {
  const options = {};
  for (let i = 0; i < words.length; i += 2) options[words[i].replace(/^--/, '')] = words[i + 1];
  const port = Number(options.port ?? 8080);
  const started = await serve({ folder: options.folder ?? 'build/site', port, host: options.host }).catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    console.error(`Port ${port} is taken; choose another one: ./site/serve --port ${port + 1}`);
    process.exit(1);
  });
  console.log(`trainmem is at ${started.address}  (Ctrl+C ends it)`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
