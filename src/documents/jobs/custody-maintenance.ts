// What an operator sees of the bucket and decides about it, while the service runs or while it does not.

import type { Sql } from '../../infra/postgres/client.ts';
import { createCustodyStore } from '../identity.ts';

export type BucketReport = {
  database: string;
  /** Why nothing is swept; null when all is well. */
  problem: string | null;
  /** Decided and not carried out yet: a running service does it within a minute, another at its start. */
  adopting: boolean;
};

export function createBucketMaintenance(sql: Sql): {
  show(): Promise<BucketReport>;
  /** The bucket is this database's as it is: what it has no record of is swept from then on. */
  adopt(): Promise<BucketReport>;
} {
  const store = createCustodyStore(sql);
  const show = async (): Promise<BucketReport> => {
    const { identity, problem, adopting } = await store.read();
    return { database: identity, problem, adopting };
  };
  return {
    show,
    async adopt() {
      await store.decide();
      return show();
    },
  };
}
