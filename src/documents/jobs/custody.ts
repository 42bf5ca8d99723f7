// Whether the bucket is this database's to sweep. To a fresh database, one named by mistake, or one that was restored from a backup,
// objects that are documents elsewhere or were documents later would be orphans. Databases leave marks in the bucket, empty objects
// whose names count: whose objects it holds (`owner-`), how far that database had come (`reached-`), and that a copy of it has found
// itself behind (`behind-`).

import { ServiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { createPeriodic, UPKEEP_DELAY_MS } from '../../core/periodic.ts';
import type { ReadinessCheck } from '../../http/readiness.ts';
import { isUnavailable } from '../../infra/postgres/client.ts';
import type { ObjectStore } from '../../infra/s3/client.ts';
import { CUSTODY_INTERVAL_MS } from '../limits.ts';
import { MARKS } from '../objects.ts';
import type { Custody, CustodyStore } from './custody-store.ts';

const FOREIGN = 'the bucket belongs to another database: nothing is swept from it';
const BEHIND =
  'the database is older than the bucket, as after restoring a backup: nothing is swept, since objects of newer documents would be lost';
const DIVERGED =
  'a copy of this database that is older has been used with the bucket: nothing is swept, since documents of the one may be unknown to the other';
const DECIDE = 'bun run admin bucket adopt';

export const ownerMark = (identity: string): string => `${MARKS}owner-${identity}`;
const behindMark = (identity: string): string => `${MARKS}behind-${identity}`;
const reachedMark = (identity: string, reached: number | ''): string =>
  `${MARKS}reached-${identity}-${reached}`;

export type BucketCustody = ReturnType<typeof createBucketCustody>;

export function createBucketCustody(deps: {
  store: CustodyStore;
  objects: Pick<ObjectStore, 'list' | 'remove' | 'putEmpty'>;
  log: Logger;
}) {
  const { store, objects, log } = deps;
  /** True at first: a process before this one may have confirmed documents. */
  let moved = true;
  let begun = false;
  let logged: string | null = null;

  /** The marks are read before the database: a process that advances in between never makes it look behind. */
  async function look() {
    const marks: string[] = [];
    for await (const page of objects.list(MARKS)) marks.push(...page.map(({ key }) => key));
    return { marks: marks.filter((key) => KINDS.test(key.slice(MARKS.length))), custody: await store.read() };
  }

  /**
   * Cut off anywhere it is carried out again: the decision goes last. The number in the bucket is taken over before its
   * mark goes, so that a newer copy, should it still run, is behind from then on.
   */
  async function adopt({ marks, custody: { identity } }: Awaited<ReturnType<typeof look>>) {
    await store.catchUp(reachedBy(identity, marks));
    await objects.putEmpty(ownerMark(identity));
    const others = marks.filter((key) => key !== ownerMark(identity));
    const failed = await objects.remove(others.map((key) => ({ key })));
    if (failed.size > 0) throw new Error(`marks in the bucket stay: ${[...failed.values()].join(', ')}`);
    await store.adopted();
    log.warn({}, "the bucket is this database's, as an operator has decided: what it does not know is swept");
    return look();
  }

  /**
   * Whether objects may be swept. If so, the bucket says by now that the database had come further than any earlier
   * copy of it; if not, the reason is logged, once.
   */
  async function advance(): Promise<boolean> {
    let seen = await look();
    if (seen.custody.adopting) seen = await adopt(seen);
    else if (!seen.marks.some((key) => key.startsWith(ownerMark('')))) {
      // Two databases that mark a bucket at once both find the other's mark, and neither sweeps.
      await objects.putEmpty(ownerMark(seen.custody.identity));
      seen = await look();
    }
    const { marks, custody } = seen;
    const { identity } = custody;
    const problem = problemOf(marks, custody);
    // The copy that is ahead learns of it too: the documents of both are in the bucket.
    if (problem === BEHIND && !marks.includes(behindMark(identity)))
      await objects.putEmpty(behindMark(identity));
    await store.keepProblem(problem);
    if (problem !== logged) {
      logged = problem;
      if (problem === null) log.info({}, 'the bucket is swept again');
      else log.error({ decide: DECIDE }, problem);
    }
    if (problem !== null) return false;
    const reached = await store.advance();
    await objects.putEmpty(reachedMark(identity, reached));
    // One that stays is removed the next time.
    const earlier = marks.filter((key) => key.startsWith(`${MARKS}reached-`));
    await objects.remove(earlier.map((key) => ({ key })));
    return true;
  }

  const job = createPeriodic({
    name: 'documents.custody',
    intervalMs: CUSTODY_INTERVAL_MS,
    delayMs: UPKEEP_DELAY_MS,
    async run() {
      const due = moved;
      begun = true;
      moved = false;
      try {
        if (due || (await store.read()).adopting) await advance();
      } catch (error) {
        moved ||= due;
        // Other parts of the service log that a server is away.
        if (!(error instanceof ServiceError) && !isUnavailable(error)) throw error;
      }
    },
    log,
  });

  return {
    advance,
    /** Documents have been confirmed: the bucket soon says that the database has come further, the first time at once. */
    recorded() {
      moved = true;
      if (!begun) void job.settle?.();
    },
    job,
    check: {
      name: 'bucket',
      essential: false,
      async check() {
        const { problem } = await store.read();
        if (problem === null) return { state: 'ready' };
        return { state: 'degraded', detail: `${problem}; decide with ${DECIDE}` };
      },
    } satisfies ReadinessCheck,
  };
}

const KINDS = /^(owner|reached|behind)-/;

/** How far the database of the identity had come when the last of its marks was written; 0 without one. */
function reachedBy(identity: string, marks: readonly string[]): number {
  const start = reachedMark(identity, '');
  const numbers = marks.filter((key) => key.startsWith(start)).map((key) => Number(key.slice(start.length)));
  return Math.max(0, ...numbers.filter(Number.isSafeInteger));
}

function problemOf(marks: readonly string[], { identity, reached }: Custody): string | null {
  const owners = marks.filter((key) => key.startsWith(ownerMark('')));
  if (owners.length !== 1 || owners[0] !== ownerMark(identity)) return FOREIGN;
  if (reachedBy(identity, marks) > reached) return BEHIND;
  return marks.some((key) => key.startsWith(behindMark(''))) ? DIVERGED : null;
}
