// The statements of the export of passages. The order of changes is that of document_changes (0006-contents.sql).

import type { Sql } from '../../infra/postgres/client.ts';
import type { Passage as ReadPassage } from '../content/states.ts';
import type { Viewer } from '../policy.ts';
import { createConditions } from '../rows.ts';
import { cursorExpired, type FeedPosition } from './cursor.ts';
import { FEED_CHANGES_A_STATEMENT, FORGET_BATCH } from './limits.ts';

export type Passage = ReadPassage & {
  documentId: string;
  changedAt: Date;
  /** By the workspace's embedding model, as it is stored; null where it was not asked for, or is not there yet. */
  vector: Buffer | null;
};

/** A line for the follower, if the step has one, and where it is afterwards. */
export type FeedStep = {
  line: Passage | { documentId: string; deleted: true } | undefined;
  after: FeedPosition;
};

/** `end`: there is nothing behind the steps. `model`: the name of the embedding model; null where there is none yet. */
export type FeedSteps = { steps: FeedStep[]; end: boolean; model: string | null };

export type FeedStore = ReturnType<typeof createFeedStore>;

type Row = {
  sequence: number;
  documentId: string;
  /** Since its first number. */
  changed: boolean;
  /** Whether the viewer sees the document now, and whether they did before its last change. */
  shown: boolean;
  seen: boolean;
  passages: number;
  changedAt: Date;
  place: number;
  changes: number;
} & { [Column in keyof Omit<Passage, 'documentId' | 'changedAt'>]: Passage[Column] | null };

type Feed = { last: number; forgottenTo: number; modelId: number | null; model: string | null };

export function createFeedStore(sql: Sql) {
  const { visible } = createConditions(sql);
  return {
    /**
     * The changes that follow a position, from one snapshot: so many passages, and a few more where several documents share them. Throws
     * 410 where the copy at that position can't be continued.
     */
    async follow(
      viewer: Viewer,
      position: FeedPosition,
      { passages, embeddings }: { passages: number; embeddings: boolean },
    ): Promise<FeedSteps> {
      const { workspaceId } = viewer;
      const { sequence, next = null } = position;
      const number = embeddings ? sql`c.sequence` : sql`c.content_sequence`;
      const vector = embeddings
        ? sql`(SELECT vector FROM document_vectors v WHERE v.document_id = p.document_id AND v.passage_id = p.id
            AND v.model_id = feed."modelId")`
        : sql`NULL::bytea`;
      const rows = await sql<(Feed & (Row | { sequence: null }))[]>`
        WITH changes AS MATERIALIZED (
          SELECT ${number} AS sequence, c.document_id, ${number} > c.first_sequence AS changed, d.id IS NOT NULL AS shown,
            ${viewer.admin} OR c.seen_by_all OR c.seen_by && ARRAY[${viewer.userId}, ${viewer.email}]::text[] AS seen,
            coalesce(o.passages, 0) AS passages, o.changed_at
          FROM document_changes c
          -- OFFSET keeps the planner from reading all documents of the workspace for each of them.
          LEFT JOIN LATERAL (SELECT id FROM documents WHERE id = c.document_id AND workspace_id = ${workspaceId}
            AND deleted_at IS NULL AND archived_at IS NULL AND ${visible(viewer)} OFFSET 0) d ON true
          LEFT JOIN document_contents o ON o.document_id = d.id
          WHERE c.workspace_id = ${workspaceId} AND ${number} >= ${next === null ? sequence + 1 : sequence}
          ORDER BY ${number} LIMIT ${FEED_CHANGES_A_STATEMENT}),
        weighed AS (
          SELECT *, row_number() OVER (ORDER BY sequence)::int AS place, (count(*) OVER ())::int AS changes,
            sum(passages + 1) FILTER (WHERE shown OR seen) OVER (ORDER BY sequence ROWS BETWEEN UNBOUNDED PRECEDING
              AND 1 PRECEDING) AS weight_before
          FROM changes)
        SELECT feed.*, w.sequence, w.document_id AS "documentId",
          w.changed, w.shown, w.seen, w.passages, w.changed_at AS "changedAt", w.place, w.changes,
          p.passage, p.page, p.heading, p.text, p.starts_at AS start, p.ends_at AS end, ${vector} AS vector
        FROM (SELECT coalesce(max(last_sequence), 0) AS last, coalesce(max(forgotten_to), 0) AS "forgottenTo",
            max(model_id) AS "modelId", max(m.name) AS model
          FROM document_feeds f
          LEFT JOIN (document_vector_workspaces w JOIN document_vector_models m ON m.id = model_id)
            ON ${embeddings} AND w.workspace_id = f.workspace_id
          WHERE f.workspace_id = ${workspaceId}) AS feed
        LEFT JOIN weighed w ON coalesce(weight_before, 0) < ${passages}
        LEFT JOIN LATERAL (
          SELECT * FROM document_passages WHERE w.shown AND document_id = w.document_id
            AND passage >= CASE w.sequence WHEN ${sequence} THEN ${next ?? 0}::integer ELSE 0 END
          ORDER BY passage LIMIT ${passages}) p ON true
        ORDER BY w.sequence, p.passage`;
      const [feed] = rows;
      if (feed === undefined) throw new Error('a statement without a row');
      refuseForgotten(position, feed);
      const from = { ...position, origin: position.origin ?? feed.last, modelId: feed.modelId ?? undefined };
      const { steps, end } = toSteps(
        rows.filter((row) => row.sequence !== null),
        from,
        feed,
      );
      return { steps, end, model: feed.model };
    },

    async cursorSecret(): Promise<Buffer> {
      const [row] = await sql<{ secret: Buffer }[]>`SELECT cursor_secret AS secret FROM documents_identity`;
      if (row === undefined) throw new Error('documents_identity is empty');
      return row.secret;
    },

    /**
     * Deletes tombstones of documents that were purged before the time; false where there are none. Of one workspace at a
     * time: a transaction that locks the counters of several has an order of its own.
     */
    async forgetPurgedBefore(time: Date): Promise<boolean> {
      const rows = await sql`
        WITH old AS MATERIALIZED (
          SELECT workspace_id, document_id, sequence FROM document_changes
          WHERE purged_at < ${time} AND workspace_id = (
            SELECT workspace_id FROM document_changes WHERE purged_at < ${time} ORDER BY purged_at LIMIT 1)
          ORDER BY purged_at LIMIT ${FORGET_BATCH}),
        noted AS (
          UPDATE document_feeds f SET forgotten_to = greatest(forgotten_to, last)
          FROM (SELECT workspace_id, max(sequence) AS last FROM old GROUP BY 1) of
          WHERE f.workspace_id = of.workspace_id)
        DELETE FROM document_changes c USING old
        WHERE c.workspace_id = old.workspace_id AND c.document_id = old.document_id RETURNING c.sequence`;
      return rows.length > 0;
    },
  };
}

function refuseForgotten({ sequence, origin = 0, modelId }: FeedPosition, feed: Feed): void {
  const reached = Math.max(sequence, origin);
  if (reached > feed.last) throw cursorExpired('the database is an earlier one, of a backup');
  if (sequence > 0 && reached < feed.forgottenTo)
    throw cursorExpired('purges since then are not known any more');
  if (modelId !== undefined && modelId !== feed.modelId)
    throw cursorExpired('the embeddings are those of another model now');
}

/** `rows`: in order, those of a document together. `from`: the follower has everything before it. */
function toSteps(
  rows: readonly Row[],
  from: FeedPosition & { origin: number },
  feed: Feed,
): Pick<FeedSteps, 'steps' | 'end'> {
  const { origin, modelId } = from;
  const position = (sequence: number, next?: number): FeedPosition => ({ sequence, next, origin, modelId });
  const steps: FeedStep[] = [];
  let complete = true;
  for (const [at, row] of rows.entries()) {
    const { sequence, documentId, passage } = row;
    const done = position(sequence);
    const continues = sequence === from.sequence;
    const begins = rows[at - 1]?.sequence !== sequence && !(continues && row.shown);
    // A copy without the document needs no tombstone. It may contain more than its cursor states: it was cut off within a page.
    if (begins && sequence > origin && row.changed && (row.shown || row.seen))
      steps.push({
        line: { documentId, deleted: true },
        after: passage === null ? done : position(sequence, 0),
      });
    if (passage === null) steps.push({ line: undefined, after: done });
    else {
      complete = passage + 1 >= row.passages;
      const after = complete ? done : position(sequence, passage + 1);
      steps.push({ line: toPassage(row, passage), after });
    }
  }
  const last = rows.at(-1);
  const end = complete && last?.place === last?.changes && (last?.changes ?? 0) < FEED_CHANGES_A_STATEMENT;
  // Numbers become visible in order: there is nothing before the last one that is still to come.
  if (end) steps.push({ line: undefined, after: position(feed.last) });
  return { steps, end };
}

const toPassage = (row: Row, passage: number): Passage => ({
  documentId: row.documentId,
  passage,
  page: row.page,
  heading: row.heading,
  text: row.text ?? '',
  start: row.start ?? 0,
  end: row.end ?? 0,
  changedAt: row.changedAt,
  vector: row.vector,
});
