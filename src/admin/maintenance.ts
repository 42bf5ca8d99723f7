// Maintenance, which only the command line offers: of the search index and the bucket, and backups.

import type { Config } from '../config.ts';
import { COMMAND_LINE } from '../core/author.ts';
import type { Logger } from '../core/logger.ts';
import { openDatabase } from '../database.ts';
import { createBucketMaintenance, createSearchMaintenance } from '../documents/index.ts';
import { audited } from '../infra/postgres/audit.ts';
import type { Sql } from '../infra/postgres/client.ts';

/** `body`: the arguments and options of the command. */
export type Context = { config: Config; log: Logger; body: Readonly<Record<string, unknown>> };

/** A report, and the reason why the command ends with 1 although it is done. */
export type Done = { report: object; refusal?: string | undefined };

/** Maintenance is no transaction: its row of the audit log is written before the work, so that none is done without one. */
export async function recordMaintenance(sql: Sql, action: string, kind: string): Promise<void> {
  await sql`SELECT ${audited(sql, COMMAND_LINE, { action, workspace: '', kind, id: null })}`;
}

/** Refuses after the report where the index had drifted. */
export async function verifySearch(context: Context): Promise<Done> {
  await using opened = await openSearch(context);
  const repair = context.body['repair'] === true;
  if (repair) await recordMaintenance(opened.sql, 'search.repair', 'search');
  const { report, drift } = await opened.search.verify({ repair });
  return { report, refusal: drift };
}

export async function reindexSearch(context: Context): Promise<Done> {
  await using opened = await openSearch(context);
  await recordMaintenance(opened.sql, 'search.reindex', 'search');
  return await opened.search.reindex();
}

async function openSearch({ config, log }: Context) {
  const { sql, close } = await openDatabase(config, log);
  const { meilisearch } = config.search;
  const progress = (sentence: string): void => log.warn({}, sentence);
  const search = createSearchMaintenance({ sql, meilisearch, log, progress });
  return { sql, search, [Symbol.asyncDispose]: close };
}

export async function showBucket({ config, log }: Context): Promise<Done> {
  const { sql, close } = await openDatabase(config, log);
  return { report: await createBucketMaintenance(sql).show().finally(close) };
}

export async function adoptBucket({ config, log }: Context): Promise<Done> {
  const { sql, close } = await openDatabase(config, log);
  return { report: await createBucketMaintenance(sql).adopt(COMMAND_LINE).finally(close) };
}
