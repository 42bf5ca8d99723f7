// The documents table. Its statements stand in this file, those that purge in purging.ts; how its rows are read, in rows.ts
// and folders.ts.

import { type Author, SERVICE } from '../core/author.ts';
import type { createCachedLookup } from '../core/cached-lookup.ts';
import { isUuid } from '../core/ids.ts';
import type { PageRequest } from '../http/paging.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { contentsOfInserted } from './content/queueing.ts';
import { curatorsOf, type Document, type DocumentChanges, given, type Located } from './document.ts';
import { type FolderRequest, readFolders } from './folders.ts';
import { changesOf, noted } from './history/store.ts';
import { BAR_WAIT_MS } from './limits.ts';
import type { Viewer } from './policy.ts';
import { createPurging, type Purged } from './purging.ts';
import {
  createConditions,
  documentColumns,
  type ListedDocuments,
  type Preference,
  readList,
} from './rows.ts';
import type { SearchEntries } from './search/entries.ts';

export type NewDocument = Omit<Document, 'createdAt' | 'curators' | 'deletedAt' | 'archivedAt'> & {
  /** Which of the objects under the temporary key it was made of. */
  uploadObject: string;
  contentType: string;
  /** Whether its file is to be read; absent: `on`. */
  reading?: 'on' | 'off';
};

/** A document and which version of its row it is. */
export type Found = Document & { version: string };

export type DocumentStore = ReturnType<typeof createDocumentStore>;

/** Documents by id, as `locate` finds them; each process drops what changes. */
export type DocumentCache = ReturnType<typeof createCachedLookup<Located>>;

/** `reads`: the files of new documents are read, unless their confirm says otherwise. */
export function createDocumentStore(sql: Sql, entries: SearchEntries, { reads = false } = {}) {
  const columns = documentColumns(sql);
  const { administered, edited, visible, preferred } = createConditions(sql);
  const json = (value: object | null | undefined) => (value == null ? null : sql.json(value as never));
  const { purgeWhere, purgeFirst } = createPurging(sql);

  return {
    /**
     * Inserts the document of an uploaded object, unless its id is barred (then undefined). An object that has its
     * document already keeps it: that one is returned.
     */
    async insert(document: NewDocument): Promise<Document | undefined> {
      const { tags, categories, access, slots } = document;
      const curators = curatorsOf(access);
      const search = await entries.addition(sql, { ...document, curators });
      const [row] = await sql<Document[]>`
        WITH inserted AS (INSERT INTO documents (id, workspace_id, upload_id, upload_object, owner_id, name,
          object_key, content_type, file_size, file_type, file_hash, tags, categories, summary, access, slots, curators, status)
        SELECT ${document.id}::uuid, ${document.workspaceId}, ${document.uploadId}::uuid, ${document.uploadObject},
          ${document.ownerId}::uuid, ${document.name}, ${document.objectKey}, ${document.contentType}, ${document.fileSize}::bigint, ${document.fileType},
          ${document.fileHash}, ${tags}::text[], ${categories}::text[], ${document.summary},
          ${json(access)}::jsonb, ${json(slots)}::jsonb, ${curators}::text[], ${document.status}
        WHERE NOT EXISTS (SELECT FROM documents_swept WHERE id = ${document.id}::uuid FOR KEY SHARE)
        ON CONFLICT (workspace_id, upload_id, upload_object) DO UPDATE SET upload_id = excluded.upload_id
        RETURNING *, (xmax = 0) AS fresh),
        ${reads || document.reading === 'off' ? contentsOfInserted(sql, document.reading ?? 'on') : sql``}
        ${search.ctes}
        SELECT ${columns} FROM inserted`;
      search.written();
      return row;
    },

    /**
     * Bars ids: once this resolves, no document with one of them will be inserted, and each that was inserted is visible. The
     * lock waits for inserts that have begun, since theirs of a row shares the table. Rejects where one takes too long.
     */
    bar: (ids: readonly string[]): Promise<unknown> =>
      sql.begin(async (tx) => {
        await tx`SELECT set_config('lock_timeout', ${`${BAR_WAIT_MS}`}, true)`;
        await tx`LOCK TABLE documents_swept IN EXCLUSIVE MODE`;
        await tx`INSERT INTO documents_swept SELECT unnest(${ids as string[]}::uuid[]) ON CONFLICT DO NOTHING`;
      }),

    /** The document that was made of the object; without one, the latest of the upload. */
    async findByUpload(upload: {
      workspaceId: string;
      uploadId: string;
      uploadObject?: string;
    }): Promise<Document | undefined> {
      const { workspaceId, uploadId, uploadObject } = upload;
      const [row] = await sql<Document[]>`
        SELECT ${columns} FROM documents WHERE workspace_id = ${workspaceId} AND upload_id = ${uploadId}
          AND ${uploadObject === undefined ? sql`true` : sql`upload_object = ${uploadObject}`}
        ORDER BY created_at DESC, id DESC LIMIT 1`;
      return row;
    },

    async locate(id: string): Promise<Located | undefined> {
      const [row] = await sql<Located[]>`
        SELECT id, workspace_id AS "workspaceId", owner_id AS "ownerId", name, object_key AS "objectKey",
          file_type AS "fileType", content_type AS "contentType", curators, status
        FROM documents WHERE id = ${id}`;
      return row;
    },

    /** The document with this id, else the one with exactly this name; only documents that the viewer may see. */
    async find(viewer: Viewer, reference: string, preference: Preference): Promise<Found | undefined> {
      const id = isUuid(reference) ? reference.toLowerCase() : undefined;
      const named = id === undefined ? sql`name = ${reference}` : sql`(id = ${id} OR name = ${reference})`;
      const byId = id === undefined ? sql`` : sql`(id = ${id}) DESC,`;
      const [row] = await sql<Found[]>`
        SELECT ${columns}, xmin::text AS version FROM documents
        WHERE workspace_id = ${viewer.workspaceId} AND ${named} AND ${visible(viewer)}
        ORDER BY ${byId} (${preferred(preference, viewer)}) DESC, (deleted_at IS NULL) DESC, created_at DESC, id DESC
        LIMIT 1`;
      return row;
    },

    /** Those of the documents that the viewer sees. */
    visibleAmong: (viewer: Viewer, ids: readonly string[]): Promise<{ id: string }[]> => sql`
      SELECT id FROM documents
      WHERE workspace_id = ${viewer.workspaceId} AND id = ANY (${ids as string[]}::uuid[]) AND ${visible(viewer)}`,

    /** The records of those of the documents that the viewer sees. */
    readVisible: (viewer: Viewer, ids: readonly string[]): Promise<Document[]> => sql`
      SELECT ${columns} FROM documents
      WHERE workspace_id = ${viewer.workspaceId} AND id = ANY (${ids as string[]}::uuid[]) AND ${visible(viewer)}`,

    /**
     * Applies the changes to the document as it was found; undefined when it has changed since, is binned, or is not
     * the viewer's to edit any more. What search knows of it, and its history, are written in the same statement.
     */
    async update(
      viewer: Viewer,
      found: Found,
      changes: DocumentChanges,
      author: Author,
    ): Promise<Document | undefined> {
      const { access, slots, fileHash, fileSize, ownerId, ...plain } = changes;
      const curators = access === undefined ? found.curators : curatorsOf(access);
      const values = given({
        ...plain,
        file_hash: fileHash,
        file_size: fileSize,
        owner_id: ownerId,
        slots: slots && json(slots),
        ...(access === undefined ? {} : { access: json(access), curators }),
      });
      const assigned = Object.keys(values).length === 0 ? sql`name = name` : sql(values as never);
      const search = await entries.revision(sql, found, changes);
      const source = sql`revised`;
      const history = noted(sql, { author, action: 'update', source, changes: changesOf(found, changes) });
      const [row] = await sql<Document[]>`
        WITH revised AS (
          UPDATE documents SET ${assigned}
          WHERE id = ${found.id} AND workspace_id = ${viewer.workspaceId} AND deleted_at IS NULL AND ${edited(viewer)}
            AND xmin = ${found.version}::text::xid
          RETURNING *) ${history} ${search.ctes}
        SELECT ${columns} FROM revised`;
      search.written();
      return row;
    },

    /** Archives (once: the first time stays) or un-archives, under the same conditions as `update`. */
    async setArchived(
      viewer: Viewer,
      { id, archivedAt }: Pick<Document, 'id' | 'archivedAt'>,
      archived: boolean,
      author: Author,
    ): Promise<Document | undefined> {
      const action = archived ? 'archive' : 'unarchive';
      const history =
        archived === (archivedAt !== null) ? sql`` : noted(sql, { author, action, source: sql`moved` });
      const [row] = await sql<Document[]>`
        WITH moved AS (
          UPDATE documents SET archived_at = ${archived ? sql`coalesce(archived_at, now())` : null}
          WHERE id = ${id} AND workspace_id = ${viewer.workspaceId} AND deleted_at IS NULL AND ${edited(viewer)}
          RETURNING *) ${history}
        SELECT ${columns} FROM moved`;
      return row;
    },

    async bin(viewer: Viewer, id: string, author: Author): Promise<boolean> {
      const rows = await sql`
        WITH moved AS (
          UPDATE documents SET status_before_bin = status, status = 'deleted', deleted_at = now()
          WHERE id = ${id} AND workspace_id = ${viewer.workspaceId} AND deleted_at IS NULL AND ${administered(viewer)}
          RETURNING id)
        ${noted(sql, { author, action: 'bin', source: sql`moved` })}
        SELECT FROM moved`;
      return rows.length > 0;
    },

    async restore(viewer: Viewer, id: string, author: Author): Promise<Document | undefined> {
      const [row] = await sql<Document[]>`
        WITH moved AS (
          UPDATE documents SET status = status_before_bin, status_before_bin = NULL, deleted_at = NULL
          WHERE id = ${id} AND workspace_id = ${viewer.workspaceId} AND deleted_at IS NOT NULL
            AND ${administered(viewer)}
          RETURNING *)
        ${noted(sql, { author, action: 'restore', source: sql`moved` })}
        SELECT ${columns} FROM moved`;
      return row;
    },

    /** Deletes one binned document for good and queues its object's deletion, both or neither; returns its id. */
    async purge(viewer: Viewer, id: string, author: Author): Promise<string[]> {
      const condition = sql`id = ${id} AND workspace_id = ${viewer.workspaceId} AND ${administered(viewer)}`;
      return (await purgeWhere(condition, author)).map((row) => row.id);
    },

    /** Purges up to `limit` documents of the viewer's own bin, the oldest first; returns them. */
    purgeOwn: (viewer: Viewer, limit: number, author: Author): Promise<Purged> =>
      purgeFirst(sql`workspace_id = ${viewer.workspaceId} AND owner_id = ${viewer.userId}`, limit, author),

    /** Purges up to `limit` documents binned before the time; returns them. */
    purgeBinnedBefore: (time: Date, limit: number): Promise<Purged> =>
      purgeFirst(sql`deleted_at < ${time}`, limit, SERVICE),

    /** The bin, newest first: the viewer's own, or (`all`) the workspace's. */
    listBin: (viewer: Viewer, page: PageRequest & { all: boolean }): Promise<ListedDocuments> =>
      readList(
        sql,
        page,
        sql`deleted_at`,
        sql`workspace_id = ${viewer.workspaceId} AND deleted_at IS NOT NULL
        AND ${page.all ? sql`true` : sql`owner_id = ${viewer.userId}`}`,
      ),

    /** Archived documents that the viewer sees, the last archived first. */
    listArchive: (viewer: Viewer, page: PageRequest): Promise<ListedDocuments> =>
      readList(
        sql,
        page,
        sql`archived_at`,
        sql`workspace_id = ${viewer.workspaceId} AND archived_at IS NOT NULL
        AND deleted_at IS NULL AND ${visible(viewer)}`,
      ),

    listFolders: (viewer: Viewer, request: Omit<FolderRequest, 'workspaceId'>): Promise<string[]> =>
      readFolders(sql, visible(viewer), { ...request, workspaceId: viewer.workspaceId }),

    /** The existing ones of the given documents, each with the key of its object. */
    async objectKeysOf(ids: readonly string[]): Promise<Map<string, string>> {
      const rows = await sql<{ id: string; objectKey: string }[]>`
        SELECT id, object_key AS "objectKey" FROM documents WHERE id = ANY (${ids as string[]}::uuid[])`;
      return new Map(rows.map((row) => [row.id, row.objectKey]));
    },
  };
}
