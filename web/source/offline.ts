// Registers the service worker, some time after the first answer: it must not compete with it. Loaded then.

import { scriptAddress } from './script_address.js';

export function workOffline(): void {
  const address = new URL(/* @vite-ignore */ './service-worker.js', location.href).href;
  navigator.serviceWorker.register(scriptAddress('trainmem', address)).catch(() => {
    // Storage may be forbidden: the page works all the same while there is a network.
  });
}
