// Keys → principals, from a cache where possible.

import { createBatcher } from '../core/batcher.ts';
import { createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import { toEmailKey } from '../core/email.ts';
import { unavailable } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { type Principal, SCOPES, type Scope } from '../core/principal.ts';
import { isUnavailable, withDeadline } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import { hashSecret, isKeyText } from './key-text.ts';
import {
  COOLDOWN_MS,
  LAST_USE_DELAY_MS,
  LAST_USE_INTERVAL_MS,
  LOOKUP_TIMEOUT_MS,
  OUTAGE_MS_MAX,
  PRINCIPAL_TTL_MS,
  PRINCIPALS_MAX,
} from './limits.ts';
import type { KeyStore, LiveKey } from './store/keys.ts';

/** The principal of a key until it expires. `lastUseAtMs`: the last use that is recorded. */
type Known = { principal: Principal; expiresAtMs: number; lastUseAtMs: number };

type KnownKeys = ReturnType<typeof createCachedLookup<Known>>;
type Found = Principal | undefined | Promise<Principal | undefined>;

type Invalidations = Pick<Invalidation, 'subscribe' | 'connected'>;

type AuthenticationDeps = {
  store: KeyStore;
  /** While no notifications of changes arrive, every key is looked up. */
  invalidation: Invalidations;
  lastUses: LastUses;
  clock: Clock;
};

export type Authentication = ReturnType<typeof createAuthentication>;

/**
 * Stale-on-error: while the database does not answer, a key that was valid less than 30 s ago is still accepted; others
 * are refused with 503.
 */
export function createAuthentication({ store, invalidation, lastUses, clock }: AuthenticationDeps) {
  const informed = invalidation.connected;
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
    if (nowMs - known.lastUseAtMs >= LAST_USE_INTERVAL_MS) {
      const added = lastUses.add({ keyId: known.principal.keyId, usedAt: new Date(nowMs) });
      if (added) known.lastUseAtMs = nowMs;
    }
    return known.principal;
  };

  /** End of the cooldown after a failed look-up, in which known keys are accepted without another look-up. */
  let cooldownUntil = Number.NEGATIVE_INFINITY;
  let outage = false;
  let probing = false;

  const load = async (hash: string, loading: Promise<Known | undefined>): Promise<Principal | undefined> => {
    const askedAt = staleKeys.now();
    try {
      const known = await loading;
      outage = false;
      staleKeys.update(hash, known, askedAt);
      return accept(known);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      outage = true;
      cooldownUntil = performance.now() + COOLDOWN_MS;
      const known = staleKeys.find(hash);
      if (known === undefined)
        throw unavailable('API keys cannot be checked at the moment', { cause: error });
      return accept(known);
    }
  };

  const principalOf = (hash: string): Found => {
    const known = performance.now() < cooldownUntil ? staleKeys.find(hash) : undefined;
    if (known !== undefined) return accept(known);
    const found = cache.get(hash);
    return found instanceof Promise ? load(hash, found) : accept(found);
  };

  /** During an outage no request waits for the database; after each cooldown one look-up probes it. */
  const tolerate = (hash: string): Principal | undefined => {
    const known = outage ? staleKeys.find(hash, OUTAGE_MS_MAX) : undefined;
    if (known === undefined) return undefined;
    const found = performance.now() < cooldownUntil || probing ? undefined : cache.get(hash);
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

  const authentication = {
    /** The principal of the key with this hash; undefined for one that is not valid. */
    principalOf,
    /**
     * The principal of a key's text, without a promise where it is cached; undefined for a text that is no valid key.
     * `tolerant`: during an outage of the database, a key that was valid within the last hour is accepted.
     */
    authenticate(text: string, tolerant = false): Found {
      if (!isKeyText(text)) return undefined;
      const hash = hashSecret(text);
      return (tolerant ? tolerate(hash) : undefined) ?? principalOf(hash);
    },
    /** Drops one key: its next use looks it up in the database. */
    drop(hash: string): void {
      cache.drop(hash);
      staleKeys.forget(hash);
    },
    /** Drops all keys. */
    reset(): void {
      cache.reset();
      staleKeys.reset();
      if (!informed()) return;
      // The listener has a connection again, so the outage is over.
      outage = false;
      cooldownUntil = Number.NEGATIVE_INFINITY;
    },
  };
  invalidation.subscribe('access', authentication.drop, authentication.reset);
  return authentication;
}

/** What follows the commit of a change: caches drop its keys, and its events are moved at once. */
export class Commits {
  private readonly authentication: Authentication;
  private readonly wakeMover: WakeEventMover;

  constructor(authentication: Authentication, wakeMover: WakeEventMover) {
    this.authentication = authentication;
    this.wakeMover = wakeMover;
  }

  /** The database notifies the other processes; this one drops its entries before it answers. */
  follow(changedKeyHashes: readonly string[] = []): void {
    for (const hash of changedKeyHashes) this.authentication.drop(hash);
    this.wakeMover();
  }
}

/**
 * Results of look-ups, kept for an outage: the cache is emptied when one begins, because notifications of changes no longer
 * arrive. When they arrive again, all earlier results are dropped, because notifications may have been lost. A result
 * that may be older than a notification, or than their loss, is not kept.
 */
function createStaleKeys({ cache, informed }: { cache: KnownKeys; informed(): boolean }) {
  const entries = new Map<string, { known: Known; until: number }>();
  /** Number of notifications and of resets so far. */
  let changes = 0;
  return {
    now: () => changes,
    /** `askedAt`: the value of `now` before the look-up. */
    update(hash: string, known: Known | undefined, askedAt: number): void {
      const current = informed() ? cache.getNow(hash) === known : changes === askedAt;
      if (known !== undefined && !current) return;
      entries.delete(hash);
      if (known === undefined) return;
      entries.set(hash, { known, until: performance.now() + PRINCIPAL_TTL_MS });
      const [oldest] = entries.keys();
      if (entries.size > PRINCIPALS_MAX && oldest !== undefined) entries.delete(oldest);
    },
    /** `graceMs`: time after its expiry in which an entry is still valid. */
    find(hash: string, graceMs = 0): Known | undefined {
      const entry = entries.get(hash);
      return entry !== undefined && entry.until + graceMs > performance.now() ? entry.known : undefined;
    },
    forget(hash: string): void {
      changes += 1;
      entries.delete(hash);
    },
    /** To be called when notifications stop, and when they arrive again. */
    reset(): void {
      changes += 1;
      if (informed()) entries.clear();
    },
  };
}

function toKnown(live: LiveKey | undefined): Known | undefined {
  if (live === undefined) return undefined;
  const { keyId, workspaceId, userId, limits, predecessors, expiresAt, lastUsedAt } = live;
  return {
    principal: {
      keyId,
      workspaceId,
      userId,
      email: toEmailKey(live.email),
      scopes: new Set(live.scopes.filter(isScope)),
      limits: predecessors.length === 0 ? limits : { ...limits, predecessors },
    },
    expiresAtMs: expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUseAtMs: lastUsedAt?.getTime() ?? Number.NEGATIVE_INFINITY,
  };
}

const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

type LastUses = ReturnType<typeof createLastUses>;

const USES_PER_STATEMENT = 1000;

/**
 * Writes the last uses of keys in batches, so that no request waits for it. A batch that cannot be written is dropped,
 * because the next use of a key, a minute later, is written again.
 */
export function createLastUses({ store, log }: { store: KeyStore; log: Logger }) {
  const batcher = createBatcher<{ keyId: string; usedAt: Date }>({
    itemsMax: USES_PER_STATEMENT,
    waitingMax: PRINCIPALS_MAX,
    delayMs: LAST_USE_DELAY_MS,
    run: async (uses) => {
      try {
        await store.recordUses(uses, LAST_USE_INTERVAL_MS);
      } catch (error) {
        log.warn({ err: error, keys: uses.length }, 'the last uses of keys could not be written');
      }
    },
  });
  return {
    add: batcher.add,
    job: {
      name: 'access.last-uses',
      start: () => undefined,
      stop: batcher.flush,
      settle: batcher.flush,
    } satisfies Job,
  };
}
