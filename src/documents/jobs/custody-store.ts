// The identity of a database, and how far it has come: a restored copy has the same identity and has not come as far.

import type { Author } from '../../core/author.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Sql } from '../../infra/postgres/client.ts';

export type Custody = {
  /** Made with the schema; never changes. */
  identity: string;
  /** Goes up only; a copy that was restored has the number of its time. */
  reached: number;
  /** Why nothing is swept from the bucket, as the last look at it found. */
  problem: string | null;
  /**
   * An operator has decided that the bucket is this database's, as it is. A running service carries it out within a
   * minute, another at its start.
   */
  adopting: boolean;
};

export type CustodyStore = ReturnType<typeof createCustodyStore>;

export function createCustodyStore(sql: Sql) {
  return {
    async read(): Promise<Custody> {
      const [row] = await sql<Custody[]>`
        SELECT id AS identity, reached, bucket_problem AS problem, adopts_bucket AS adopting
        FROM documents_identity`;
      if (row === undefined) throw new Error('the database has no identity');
      return row;
    },

    /** One further; returns it. */
    async advance(): Promise<number> {
      const [row] = await sql<{ reached: number }[]>`
        UPDATE documents_identity SET reached = reached + 1 RETURNING reached`;
      return row?.reached ?? 0;
    },

    /** Writes only what has changed. */
    keepProblem: (problem: string | null): Promise<unknown> => sql`
      UPDATE documents_identity SET bucket_problem = ${problem} WHERE bucket_problem IS DISTINCT FROM ${problem}`,

    /** Raises the counter to what the bucket has, where that is more. */
    catchUp: (reached: number): Promise<unknown> =>
      sql`UPDATE documents_identity SET reached = greatest(reached, ${reached}::integer)`,

    /** The decision has been carried out. */
    adopted: (): Promise<unknown> => sql`UPDATE documents_identity SET adopts_bucket = false`,
  };
}

export const readIdentity = async (sql: Sql): Promise<string> =>
  (await createCustodyStore(sql).read()).identity;

/** What an operator sees of the bucket and decides about it, while the service runs or while it does not. */
export function createBucketMaintenance(sql: Sql) {
  const show = async () => {
    const { identity, problem, adopting } = await createCustodyStore(sql).read();
    return { database: identity, problem, adopting };
  };
  return {
    show,
    /** The bucket is this database's as it is: objects without a record are swept from then on. */
    async adopt(author: Author) {
      const audit = audited(sql, author, {
        action: 'bucket.adopt',
        workspace: '',
        kind: 'bucket',
        id: null,
        before: sql`jsonb_build_object('problem', bucket_problem)`,
      });
      await sql`UPDATE documents_identity SET adopts_bucket = true RETURNING ${audit}`;
      return show();
    },
  };
}
