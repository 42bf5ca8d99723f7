/** A new identifier. `crypto.randomUUID` exists only on https and on this machine, and the portal is also used without TLS. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
