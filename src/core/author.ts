// The author of a change, as the audit log names it.

import type { Principal } from './principal.ts';

export type Author = {
  /** The e-mail of a person; `command-line`, or `service` where a job of the service itself makes the change. */
  readonly actor: string;
  /** How the author was identified. */
  readonly via: 'key' | 'session' | 'sign-on' | 'command-line' | 'service';
  readonly userId: string | null;
  /** The key of the request, or the key that opened its session. */
  readonly keyId: string | null;
  /** The IP address of the client; null where there is none. */
  readonly address: string | null;
  readonly requestId: string | null;
};

/** What a request says about its author, apart from the credential. */
export type RequestOrigin = Pick<Author, 'address' | 'requestId'>;

export const SERVICE: Author = {
  actor: 'service',
  via: 'service',
  userId: null,
  keyId: null,
  address: null,
  requestId: null,
};

export const COMMAND_LINE: Author = { ...SERVICE, actor: 'command-line', via: 'command-line' };

/** The author of the changes that a request of this principal makes. */
export function toAuthor(principal: Principal, { address, requestId }: RequestOrigin): Author {
  if (principal.via === 'command-line') return { ...COMMAND_LINE, requestId };
  const { email: actor, userId, keyId, via = 'key' } = principal;
  return { actor, via, userId, keyId, address, requestId };
}
