// Addresses of this site's own scripts, as a page wants them that enforces Trusted Types.

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(text: string): string },
  ): { createScriptURL(text: string): string };
}

const made = new Map<string, string>();

/** `address` through the policy `name`, which passes that address alone; as it is where there are no Trusted Types. */
export function scriptAddress(name: string, address: string): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!types) return address;
  const own = (text: string) => {
    if (text === address) return text;
    throw new TypeError(`${text} is no script of this site`);
  };
  const trusted = made.get(name) ?? types.createPolicy(name, { createScriptURL: own }).createScriptURL(address);
  made.set(name, trusted);
  return trusted;
}
