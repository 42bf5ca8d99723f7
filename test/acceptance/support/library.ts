// Area A as one person uses it: every operation of the interface by a name, answers untouched.

import { createHash } from 'node:crypto';
import { eventually } from '../../support/child.ts';
import { type Answer, bodyOf, type Caller } from './caller.ts';
import { type Content, type Descriptor, upload } from './uploads.ts';

export type DocumentRecord = {
  id: string;
  owner_id: string;
  name: string;
  storage_url: string;
  created_at: string;
  file_size: number | null;
  file_type: string | null;
  tags: string[] | null;
  categories: string[] | null;
  status: 'public' | 'private' | 'deleted';
  file_hash: string | null;
  summary: string | null;
  access: Record<string, unknown> | null;
  slots: Record<string, unknown> | null;
};
export type BinRow = DocumentRecord & { deleted_at: string };
export type ArchiveRow = DocumentRecord & { archived_at: string };
export type List<Row> = { items: Row[]; count: number; next_cursor?: string };

type Metadata = Record<string, unknown>;
type Query = Record<string, string | number | boolean>;

export type Library = ReturnType<typeof createLibrary>;

export const md5 = (content: Content): string => createHash('md5').update(content).digest('hex');

/** A name that no other test uses. */
export const freshName = (extension = 'txt'): string => `${crypto.randomUUID().slice(0, 13)}.${extension}`;

/** Times are told in milliseconds: what happens afterwards is later than what happened before. */
export async function nextMillisecond(): Promise<void> {
  for (const now = Date.now(); Date.now() <= now; ) await Bun.sleep(1);
}

/** A reference as a path segment: everything that has a meaning in URLs is percent-encoded. */
const segment = (reference: string): string => encodeURIComponent(reference);

export function createLibrary(
  call: Caller,
  { workspace, key }: { workspace: string; key: string | undefined },
) {
  const v1 = `/v1/${workspace}`;
  const metadata = `/v1/metadata/${workspace}`;

  const operations = {
    presign: (query: Query = {}): Promise<Answer> => call('GET', `${v1}/presigned/url`, { key, query }),
    confirm: (json: unknown): Promise<Answer> => call('POST', `${v1}/upload/confirm`, { key, json }),
    downloadUrl: (id: string, query: Query = {}): Promise<Answer> =>
      call('GET', `${v1}/file/${segment(id)}/download/url`, { key, query }),
    content: (id: string, query: Query = {}): Promise<Answer> =>
      call('GET', `${v1}/file/${segment(id)}/content`, { key, query }),
    passages: (id: string, query: Query = {}): Promise<Answer> =>
      call('GET', `${v1}/file/${segment(id)}/passages`, { key, query }),
    history: (id: string, query: Query = {}): Promise<Answer> =>
      call('GET', `${v1}/file/${segment(id)}/history`, { key, query }),
    contents: (query: Query = {}): Promise<Answer> => call('GET', `${v1}/contents`, { key, query }),
    exportPassages: (query: Query = {}): Promise<Answer> => call('GET', `${v1}/passages`, { key, query }),
    excerpt: (id: string, query: Query = {}): Promise<Answer> =>
      call('GET', `${v1}/file/${segment(id)}/content/excerpt`, { key, query }),
    putContent: (id: string, json: unknown): Promise<Answer> =>
      call('PUT', `${v1}/file/${segment(id)}/content`, { key, json }),
    retrieve: (json: unknown): Promise<Answer> => call('POST', `${v1}/retrieve`, { key, json }),
    bin: (id: string): Promise<Answer> => call('DELETE', `${v1}/${segment(id)}`, { key }),
    trash: (query: Query = {}): Promise<Answer> => call('GET', `${v1}/trash`, { key, query }),
    purge: (id: string): Promise<Answer> => call('DELETE', `${v1}/trash/${segment(id)}`, { key }),
    restore: (id: string): Promise<Answer> => call('POST', `${v1}/restore/${segment(id)}`, { key }),
    emptyTrash: (): Promise<Answer> => call('DELETE', `${v1}/empty/trash`, { key }),
    detail: (reference: string): Promise<Answer> =>
      call('GET', `${metadata}/${segment(reference)}/detail`, { key }),
    patch: (reference: string, json: unknown): Promise<Answer> =>
      call('PUT', `${metadata}/${segment(reference)}`, { key, json }),
    archive: (reference: string): Promise<Answer> =>
      call('POST', `${metadata}/archive/${segment(reference)}`, { key }),
    archiveList: (query: Query = {}): Promise<Answer> =>
      call('GET', `${metadata}/archive/list`, { key, query }),
    folders: (query: Query = {}): Promise<Answer> => call('GET', `${metadata}/folders/list`, { key, query }),
    unarchive: (reference: string): Promise<Answer> =>
      call('POST', `${metadata}/un-archive/${segment(reference)}`, { key }),
  };

  const descriptor = async (query: Query = {}): Promise<Descriptor> =>
    bodyOf<Descriptor>(await operations.presign(query), 201);

  /** Steps 1 and 2; returns the temporary key. */
  const uploaded = async (content: Content = 'some text'): Promise<string> => {
    const form = await descriptor();
    await upload(form, content);
    return form.fields['key'] ?? '';
  };

  return {
    ...operations,
    descriptor,
    uploaded,

    /** All three steps; returns the new record. */
    async stored(given: Metadata = {}, content: Content = 'some text', folder?: string | null) {
      const document_metadata = { name: freshName(), ...given };
      const body = {
        temp_key: await uploaded(content),
        document_metadata,
        ...(folder === undefined ? {} : { folder }),
      };
      return bodyOf<DocumentRecord>(await operations.confirm(body), 201);
    },

    /** The state of the document's text, once its file has been read. */
    whenRead: <State extends { status: string }>(id: string): Promise<State> =>
      eventually(
        'the document to be read',
        async () => {
          const state = bodyOf<State>(await operations.content(id), 200);
          return state.status === 'pending' ? undefined : state;
        },
        60_000,
      ),

    /** The document's record, which has to be readable. */
    read: async (reference: string) => bodyOf<DocumentRecord>(await operations.detail(reference), 200),
    /** A download URL, which has to be given. */
    link: async (id: string, query: Query = {}) =>
      bodyOf<string>(await operations.downloadUrl(id, query), 200),
    binned: async (query: Query = {}) => bodyOf<List<BinRow>>(await operations.trash(query), 200),
    archived: async (query: Query = {}) => bodyOf<List<ArchiveRow>>(await operations.archiveList(query), 200),
  };
}
