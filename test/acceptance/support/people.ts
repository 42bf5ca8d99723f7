// Who calls: users and keys, made through the administration as an administrator makes them.

import { bodyOf, type Caller } from './caller.ts';
import { createLibrary, type Library } from './library.ts';

export type CreatedKey = { id: string; key: string; prefix: string; user_email: string; scopes: string[] };
export type Person = { email: string; key: string; library: Library };
export type KeyRequest = { scopes?: string[]; email?: string; expiresAt?: string };

export type People = ReturnType<typeof createPeople>;

export const DOCUMENT_SCOPES = ['documents:read', 'documents:write'];

/** An e-mail address that no other test uses. */
export const freshEmail = (name = 'person'): string =>
  `${name}-${crypto.randomUUID().slice(0, 13)}@example.com`;

/** Makes people of a workspace with an administrator's key. */
export function createPeople(call: Caller, { workspace, adminKey }: { workspace: string; adminKey: string }) {
  const newKey = async ({
    scopes = DOCUMENT_SCOPES,
    email,
    expiresAt,
  }: KeyRequest = {}): Promise<CreatedKey> => {
    const json = {
      name: 'test',
      scopes,
      user_email: email ?? freshEmail(),
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    };
    return bodyOf(
      await call('POST', `/admin/api/workspaces/${workspace}/keys`, { key: adminKey, json }),
      201,
    );
  };
  return {
    newKey,
    revoke: (keyId: string) =>
      call('DELETE', `/admin/api/workspaces/${workspace}/keys/${keyId}`, { key: adminKey }),

    /** Somebody new, with a key for documents. */
    async person(request: KeyRequest = {}): Promise<Person> {
      const { key, user_email } = await newKey(request);
      return { email: user_email, key, library: createLibrary(call, { workspace, key }) };
    },
  };
}
