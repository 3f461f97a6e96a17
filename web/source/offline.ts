// Registers the service worker, some time after the first answer: it must not compete with it. Loaded then.

const policy = (
  globalThis as {
    trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } };
  }
).trustedTypes?.createPolicy('trainmem', { createScriptURL: (url: string) => url });

export function workOffline(): void {
  const address = new URL(/* @vite-ignore */ './service-worker.js', location.href).href;
  navigator.serviceWorker.register(policy ? policy.createScriptURL(address) : address).catch(() => {
    // Storage may be forbidden: the page works all the same while there is a network.
  });
}
