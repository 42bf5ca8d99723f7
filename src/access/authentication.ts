// Keys → principals: from memory where possible, and never for longer than the key is worth it.

import { type CachedLookup, createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import { unavailable } from '../core/errors.ts';
import { type Principal, SCOPES, type Scope } from '../core/principal.ts';
import { isUnavailable, withDeadline } from '../infra/postgres/client.ts';
import { hashSecret, isKeyText } from './key-text.ts';
import type { createLastUses } from './last-uses.ts';
import {
  AWAY_MS,
  LAST_USE_INTERVAL_MS,
  LOOKUP_TIMEOUT_MS,
  OUTAGE_MS_MAX,
  PRINCIPAL_TTL_MS,
  PRINCIPALS_MAX,
} from './limits.ts';
import type { KeyStore, LiveKey } from './store/keys.ts';

/** What a key stands for until it expires; `lastUseToldAtMs` spares most uses their record. */
type Known = { principal: Principal; expiresAtMs: number; lastUseToldAtMs: number };

type Found = Principal | undefined | Promise<Principal | undefined>;

export type AuthenticationDeps = {
  store: Pick<KeyStore, 'findLive'>;
  /** Whether the database tells of changes; while it does not, every key is looked up. */
  informed(): boolean;
  lastUses: Pick<ReturnType<typeof createLastUses>, 'add'>;
  clock: Clock;
};

export type Authentication = {
  /**
   * The principal of a key's text; undefined for what is no key, or none any more. At once where it is cached.
   * `tolerant`: while the database is away, a key that was good within the last hour is accepted.
   */
  authenticate(text: string, tolerant?: boolean): Found;
  /** The principal of the key with this hash. */
  principalOf(hash: string): Found;
  /** Forgets one key, or all: from then on the database is asked. */
  drop(hash: string): void;
  reset(): void;
};

/**
 * While the database can't be asked, a key that was good less than 30 s ago is still accepted; others are
 * refused with 503.
 */
export function createAuthentication({
  store,
  informed,
  lastUses,
  clock,
}: AuthenticationDeps): Authentication {
  const cache = createCachedLookup<Known>({
    load: async (hash) => toKnown(await withDeadline(store.findLive(hash), LOOKUP_TIMEOUT_MS)),
    ttlMs: PRINCIPAL_TTL_MS,
    entriesMax: PRINCIPALS_MAX,
    usable: informed,
  });
  const staleKeys = createStaleKeys({ cache, informed });

  const accept = (known: Known | undefined): Principal | undefined => {
    const nowMs = clock.now().getTime();
    if (known === undefined || known.expiresAtMs <= nowMs) return undefined;
    if (nowMs - known.lastUseToldAtMs >= LAST_USE_INTERVAL_MS) {
      const told = lastUses.add({ keyId: known.principal.keyId, usedAt: new Date(nowMs) });
      if (told) known.lastUseToldAtMs = nowMs;
    }
    return known.principal;
  };

  /** Until then the database is taken to be still away, so that known keys do not wait for it one by one. */
  let awayUntil = Number.NEGATIVE_INFINITY;
  let away = false;
  let probing = false;

  const load = async (hash: string, loading: Promise<Known | undefined>): Promise<Principal | undefined> => {
    const askedAt = staleKeys.now();
    try {
      const known = await loading;
      away = false;
      staleKeys.update(hash, known, askedAt);
      return accept(known);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      away = true;
      awayUntil = performance.now() + AWAY_MS;
      const known = staleKeys.find(hash);
      if (known === undefined)
        throw unavailable('API keys cannot be checked at the moment', { cause: error });
      return accept(known);
    }
  };

  const principalOf = (hash: string): Found => {
    const known = performance.now() < awayUntil ? staleKeys.find(hash) : undefined;
    if (known !== undefined) return accept(known);
    const found = cache.get(hash);
    return found instanceof Promise ? load(hash, found) : accept(found);
  };

  /** No request waits for a database that is away; one request in a while asks whether it is back. */
  const tolerate = (hash: string): Principal | undefined => {
    const known = away ? staleKeys.find(hash, OUTAGE_MS_MAX) : undefined;
    if (known === undefined) return undefined;
    const found = performance.now() < awayUntil || probing ? undefined : cache.get(hash);
    if (found instanceof Promise) {
      probing = true;
      void load(hash, found)
        .catch(() => undefined)
        .finally(() => {
          probing = false;
        });
    }
    return accept(known);
  };

  return {
    principalOf,
    authenticate(text, tolerant = false) {
      if (!isKeyText(text)) return undefined;
      const hash = hashSecret(text);
      return (tolerant ? tolerate(hash) : undefined) ?? principalOf(hash);
    },
    drop(hash) {
      cache.drop(hash);
      staleKeys.forget(hash);
    },
    reset() {
      cache.reset();
      staleKeys.reset();
      if (!informed()) return;
      // The listener has its connection again, so the database can be asked again.
      away = false;
      awayUntil = Number.NEGATIVE_INFINITY;
    },
  };
}

/**
 * The answers of the database, kept for an outage: the cache is emptied when one begins, because no notices of changes
 * arrive any more. When notices arrive again, no earlier answer counts, because some of them may have been lost. An answer
 * that may be older than a notice, or than the loss of the notices, is not kept here either.
 */
function createStaleKeys({ cache, informed }: { cache: CachedLookup<Known>; informed(): boolean }) {
  const entries = new Map<string, { known: Known; until: number }>();
  /** Notices and gaps so far. */
  let changes = 0;
  return {
    now: () => changes,
    /** `askedAt`: what `now` was before the database was asked. */
    update(hash: string, known: Known | undefined, askedAt: number): void {
      const current = informed() ? cache.getNow(hash) === known : changes === askedAt;
      if (known !== undefined && !current) return;
      entries.delete(hash);
      if (known === undefined) return;
      entries.set(hash, { known, until: performance.now() + PRINCIPAL_TTL_MS });
      const [oldest] = entries.keys();
      if (entries.size > PRINCIPALS_MAX && oldest !== undefined) entries.delete(oldest);
    },
    /** `graceMs`: how long after its time an entry will do. */
    find(hash: string, graceMs = 0): Known | undefined {
      const entry = entries.get(hash);
      return entry !== undefined && entry.until + graceMs > performance.now() ? entry.known : undefined;
    },
    forget(hash: string): void {
      changes += 1;
      entries.delete(hash);
    },
    /** At the loss of the notices, and at their return. */
    reset(): void {
      changes += 1;
      if (informed()) entries.clear();
    },
  };
}

function toKnown(live: LiveKey | undefined): Known | undefined {
  if (live === undefined) return undefined;
  const { keyId, workspaceId, userId, limits, expiresAt, lastUsedAt } = live;
  return {
    principal: {
      keyId,
      workspaceId,
      userId,
      email: live.email.toLowerCase(),
      scopes: new Set(live.scopes.filter(isScope)),
      limits,
    },
    expiresAtMs: expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUseToldAtMs: lastUsedAt?.getTime() ?? Number.NEGATIVE_INFINITY,
  };
}

const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);
