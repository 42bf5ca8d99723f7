// Whether the index holds what the documents say, each compared by a fingerprint.

import type { Indexes } from '../../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import { visitDocuments } from '../entries.ts';
import { toMirrored } from './document.ts';
import { createOutbox } from './outbox.ts';

const HELD_AT_ONCE = 1000;

/** With `repair`, what differs is queued to be sent again. Documents whose changes are pending are passed over. */
export async function verifyIndex(deps: { sql: Sql; indexes: Indexes; indexUid: string; repair: boolean }) {
  const { sql, indexes, indexUid, repair } = deps;
  const { signal } = new AbortController();
  const drift = { compared: 0, waiting: 0, missing: 0, extra: 0, different: 0 };
  // No document of a batch changes while it is compared.
  await visitDocuments(sql, async (tx, documents) => {
    const ids = documents.map(({ id }) => id);
    const waiting = new Set(
      (
        await tx<{ id: string }[]>`
          SELECT document_id AS id FROM search_outbox WHERE document_id = ANY (${ids}::uuid[]) AND refusal IS NULL`
      ).map(({ id }) => id),
    );
    const fields = ['id', 'fingerprint'];
    const { results } = await indexes.page<{ id: string; fingerprint: string }>(
      indexUid,
      { ids, fields, limit: ids.length },
      signal,
    );
    const held = new Map(results.map(({ id, fingerprint }) => [id, fingerprint]));
    const drifted: (typeof documents)[number][] = [];
    for (const document of documents) {
      if (waiting.has(document.id)) continue;
      drift.compared += 1;
      if (held.get(document.id) === (await toMirrored(document)).fingerprint) continue;
      drift[held.has(document.id) ? 'different' : 'missing'] += 1;
      drifted.push(document);
    }
    drift.waiting += waiting.size;
    if (repair && drifted.length > 0) await createOutbox(tx).add(drifted);
  });

  // Queued at the end: deletions would move the pages that are still to be read.
  const extra: { id: string; workspaceId: string }[] = [];
  for (let offset = 0; ; offset += HELD_AT_ONCE) {
    const query = { fields: ['id', 'workspace'], limit: HELD_AT_ONCE, offset };
    const { results } = await indexes.page<{ id: string; workspace: string }>(indexUid, query, signal);
    if (results.length === 0) break;
    const gone = await sql<{ id: string }[]>`
      SELECT id FROM unnest(${results.map(({ id }) => id)}::uuid[]) AS held (id)
      WHERE NOT EXISTS (SELECT FROM documents d WHERE d.id = held.id)
        AND NOT EXISTS (SELECT FROM search_outbox WHERE document_id = held.id)`;
    const ids = new Set(gone.map(({ id }) => id));
    for (const { id, workspace } of results) if (ids.has(id)) extra.push({ id, workspaceId: workspace });
  }
  drift.extra = extra.length;
  if (repair && extra.length > 0) await createOutbox(sql).add(extra);
  return drift;
}
