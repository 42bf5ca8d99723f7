import type { Clock } from '../core/clock.ts';
import { parseDateTime } from '../core/date-time.ts';
import { toEmailKey } from '../core/email.ts';
import { conflict, notFound, valueError } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import { newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { type Page, type PageRequest, toPage } from '../http/paging.ts';
import { createKeyText, hashSecret, shownPrefix } from './key-text.ts';
import { type Caller, refuseUnlessOperator } from './operators.ts';
import {
  type KeyCreate,
  type KeyCreated,
  type KeyPatch,
  type KeyRead,
  type KeyRotate,
  toLimits,
} from './schema.ts';
import type { FoundKey, Key, KeyReference, KeyStore, Secret } from './store/keys.ts';

/** The parts that the administration of users and that of keys need beside their stores. */
export type Administration = {
  requireWorkspace(id: string): Promise<void>;
  /** Drops the cached principals of the keys with these hashes. */
  forget(keyHashes: readonly string[]): void;
  wakeMover: WakeEventMover;
  clock: Clock;
};

export type Keys = ReturnType<typeof createKeys>;

/** The keys of a workspace. The text of a key stands only in the answer that creates it. */
export function createKeys({
  store,
  requireWorkspace,
  forget,
  wakeMover,
  clock,
}: Administration & { store: KeyStore }) {
  /** Throws 404; 403 when others than operators ask for a key with the scope `operator`. */
  const findWithinReach = async (principal: Principal, reference: KeyReference): Promise<FoundKey> => {
    const key = await store.find(reference);
    if (key === undefined) throw keyNotFound();
    refuseUnlessOperator(principal, key.scopes.includes('operator'));
    return key;
  };

  return {
    async list(workspaceId: string, page: PageRequest): Promise<Page<KeyRead>> {
      await requireWorkspace(workspaceId);
      return toPage(await store.list(workspaceId, page), page.limit, render);
    },

    /**
     * Creates a key for the user of `user_email`, by default the caller's own e-mail; if no user has it, one is created.
     * Throws 404 for an unknown workspace, 422 for an expiry in the past, and 403 when others than operators give the scope
     * `operator`, or ask for a key for another user who is an operator.
     */
    async create({ principal, author }: Caller, workspaceId: string, wanted: KeyCreate): Promise<KeyCreated> {
      await requireWorkspace(workspaceId);
      const userEmail = toEmailKey(wanted.user_email ?? principal.email);
      refuseUnlessOperator(principal, wanted.scopes.includes('operator'));
      if (userEmail !== principal.email)
        refuseUnlessOperator(principal, await store.isOperator(workspaceId, userEmail));
      const text = createKeyText();
      const key = await store.insert({
        ...toSecret(text, toExpiry(wanted.expires_at, clock.now()), clock.now()),
        workspaceId,
        name: wanted.name,
        scopes: [...new Set(wanted.scopes)],
        limits: toLimits(wanted.limits),
        userEmail,
        userId: newId(),
        emitsUserEvent: true,
        author,
      });
      if (key === undefined) throw new Error('a new key has the hash of another one');
      wakeMover();
      return { ...render(key), key: text };
    },

    /**
     * Throws 404; 403 when others than operators change a key with the scope `operator`, or enable one of another user who
     * is an operator.
     */
    async update(
      { principal, author }: Caller,
      reference: KeyReference,
      changes: KeyPatch,
    ): Promise<KeyRead> {
      const key = await findWithinReach(principal, reference);
      refuseUnlessOperator(principal, changes.disabled === false && actsForOtherOperator(key, principal));
      const changed = await store.update(reference, changes, author);
      if (changed === undefined) throw keyNotFound();
      forget([changed.hash]);
      return render(changed.key);
    },

    /**
     * Creates a key like the old one, which ends at once or after `grace_seconds`. Throws 404; 403 as `update` does, and for
     * a key of another user who is an operator; 409 for a key that was rotated before, for that of single sign-on, and for an
     * expired one unless `expires_at` is given.
     */
    async rotate(
      { principal, author }: Caller,
      reference: KeyReference,
      wanted: KeyRotate,
    ): Promise<KeyCreated> {
      const old = await findWithinReach(principal, reference);
      refuseUnlessOperator(principal, actsForOtherOperator(old, principal));
      if (old.signOn) throw conflict('The key is that of single sign-on, which has no text');
      const now = clock.now();
      const expiresAt = wanted.expires_at === undefined ? old.expiresAt : toExpiry(wanted.expires_at, now);
      if (expiresAt !== null && expiresAt <= now)
        throw conflict('The key has expired: give the new one an expires_at');
      const text = createKeyText();
      const endsAt = new Date(now.getTime() + (wanted.grace_seconds ?? 0) * 1000);
      const rotated = await store.rotate(reference, toSecret(text, expiresAt, now), { now, endsAt, author });
      if (rotated === undefined) {
        const replaced = (await store.find(reference)) !== undefined;
        throw replaced ? conflict('The key has been rotated already') : keyNotFound();
      }
      forget([rotated.oldHash]);
      return { ...render(rotated.key), key: text };
    },

    /** No later request with the key is accepted. Throws 404, also when it was revoked before; 403 as `update` does. */
    async revoke({ principal, author }: Caller, reference: KeyReference): Promise<void> {
      await findWithinReach(principal, reference);
      const hash = await store.revoke(reference, clock.now(), author);
      if (hash === undefined) throw keyNotFound();
      forget([hash]);
    },
  };
}

const actsForOtherOperator = ({ ofOperator, userId }: FoundKey, principal: Principal): boolean =>
  ofOperator && userId !== principal.userId;

const keyNotFound = () => notFound('Key not found');

const toSecret = (text: string, expiresAt: Date | null, createdAt: Date): Secret => ({
  id: newId(),
  prefix: shownPrefix(text),
  hash: hashSecret(text),
  createdAt,
  expiresAt,
});

function toExpiry(text: string | null | undefined, now: Date): Date | null {
  if (text === null || text === undefined) return null;
  const expiresAt = parseDateTime(text);
  if (expiresAt === undefined || expiresAt <= now)
    throw valueError(['body', 'expires_at'], 'the expiry must be in the future', text);
  return expiresAt;
}

const render = (key: Key): KeyRead => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  scopes: key.scopes,
  user_email: key.userEmail,
  limits: key.limits,
  disabled: key.disabled,
  created_at: key.createdAt.toISOString(),
  expires_at: key.expiresAt?.toISOString() ?? null,
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
});
