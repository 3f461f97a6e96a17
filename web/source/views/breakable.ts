// Long names, keys and paths may break where their parts end, and are copied without a sign of it.

import { html } from 'lit';

export const breakable = (text: string) =>
  text.split(/(?<=[._/,=])/).map((part, index) => (index === 0 ? part : html`<wbr />${part}`));
