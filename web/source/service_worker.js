// The calculator without a network, after the first visit. The build puts in the version and the list of files.
//
// Files whose names carry a hash never change: they come from the cache. Pages come from the network while there is
// one, so that a new version shows at once.

const version = 'VERSION';
const files = ['FILES'];
const cacheName = `trainmem-${version}`;

addEventListener('install', event => {
  event.waitUntil(caches.open(cacheName).then(cache => cache.addAll(files)));
});

addEventListener('activate', event => {
  const removeOld = async () => {
    const names = await caches.keys();
    await Promise.all(
      names.filter(name => name.startsWith('trainmem-') && name !== cacheName).map(name => caches.delete(name)),
    );
  };
  event.waitUntil(removeOld());
});

/** In place of a model's page that was never visited: the calculator with that model. */
function standIn({ url }) {
  const [, model] = /\/m\/([^/]+)\/(?:index\.html)?(?:[?#]|$)/.exec(url) ?? [];
  return Response.redirect(model ? `./#v=1&model=${model}&end` : './');
}

async function answer(request) {
  const cache = await caches.open(cacheName);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept && /-[\w-]{8}\.\w+$/.test(new URL(request.url).pathname)) return kept;
  try {
    const fresh = await fetch(request);
    if (fresh.ok) await cache.put(request, fresh.clone());
    return fresh;
  } catch (error) {
    if (kept) return kept;
    if (request.mode === 'navigate') return standIn(request);
    throw error;
  }
}

addEventListener('fetch', event => {
  const { request } = event;
  if (request.method === 'GET' && new URL(request.url).origin === location.origin) event.respondWith(answer(request));
});
