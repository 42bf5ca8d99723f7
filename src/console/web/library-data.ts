// What the library shows, and what it does with documents.

import { answerOf, api, type Schemas } from './api.ts';
import { isAdmin, workspace } from './state.ts';

export type Document = Schemas['DocumentMetadataRead'];
export type View = 'documents' | 'archive' | 'bin';
export type Row = Document & { deleted_at?: string; archived_at?: string };
export type Rows = { rows: Row[]; total: number; next: string | undefined };

export const PAGE_SIZE = 50;

export type Search = { where: URLSearchParams; q: string; order: string; page: number; cursor: string };

const inWorkspace = () => ({ workspace_id: workspace.value });

/** The query of the interface that the filters make; a filter may occur several times. */
export function toQuery({ where, q, order }: Pick<Search, 'where' | 'q' | 'order'>): URLSearchParams {
  const query = new URLSearchParams(where);
  if (q !== '') query.set('q', q);
  else query.set('order_by', order);
  return query;
}

export async function readRows(view: View, search: Search): Promise<Rows> {
  if (view === 'documents') return readDocuments(search);
  const query = { limit: PAGE_SIZE, ...(search.cursor === '' ? {} : { cursor: search.cursor }) };
  const { items, count, next_cursor } =
    view === 'bin'
      ? await answerOf(
          api.GET('/admin/call/v1/{workspace_id}/trash', {
            params: { path: inWorkspace(), query: { ...query, all: isAdmin.value } },
          }),
        )
      : await answerOf(
          api.GET('/admin/call/v1/metadata/{workspace_id}/archive/list', {
            params: { path: inWorkspace(), query },
          }),
        );
  return { rows: items, total: count, next: next_cursor };
}

async function readDocuments(search: Search): Promise<Rows> {
  const query = toQuery(search);
  query.set('page', String(search.page));
  query.set('size', String(PAGE_SIZE));
  const { items, total } = await answerOf(
    api.GET('/admin/call/v1/filter/{workspace_id}', {
      params: { path: inWorkspace() },
      querySerializer: () => query.toString(),
    }),
  );
  return { rows: items, total: total ?? 0, next: undefined };
}

export const readDocument = (id: string): Promise<Document> =>
  answerOf(
    api.GET('/admin/call/v1/metadata/{workspace_id}/{document}/detail', {
      params: { path: { ...inWorkspace(), document: id } },
    }),
  );

export const patchDocument = (id: string, body: Schemas['DocumentMetadataPatch']): Promise<Document> =>
  answerOf(
    api.PUT('/admin/call/v1/metadata/{workspace_id}/{document}', {
      params: { path: { ...inWorkspace(), document: id } },
      body,
    }),
  );

export const urlOf = (id: string, disposition: 'inline' | 'attachment'): Promise<string> =>
  answerOf(
    api.GET('/admin/call/v1/{workspace_id}/file/{file_id}/download/url', {
      params: { path: { ...inWorkspace(), file_id: id }, query: { disposition, expires_in: 900 } },
    }),
  );

const byId = (id: string) => ({ params: { path: { ...inWorkspace(), file_id: id } } });

export const ACTIONS = {
  bin: (id: string) => answerOf(api.DELETE('/admin/call/v1/{workspace_id}/{file_id}', byId(id))),
  restore: (id: string) => answerOf(api.POST('/admin/call/v1/{workspace_id}/restore/{file_id}', byId(id))),
  purge: (id: string) => answerOf(api.DELETE('/admin/call/v1/{workspace_id}/trash/{file_id}', byId(id))),
  archive: (id: string) =>
    answerOf(
      api.POST('/admin/call/v1/metadata/{workspace_id}/archive/{file_name}', {
        params: { path: { ...inWorkspace(), file_name: id } },
      }),
    ),
  unarchive: (id: string) =>
    answerOf(
      api.POST('/admin/call/v1/metadata/{workspace_id}/un-archive/{file}', {
        params: { path: { ...inWorkspace(), file: id } },
      }),
    ),
  publish: (id: string) => patchDocument(id, { status: 'public' }),
  hide: (id: string) => patchDocument(id, { status: 'private' }),
} satisfies Record<string, (id: string) => Promise<unknown>>;
export type ActionName = keyof typeof ACTIONS;

/** Does one thing to several documents, four at once. Returns the failures by the ids of their documents. */
export async function doToAll(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
): Promise<ReadonlyMap<string, Error>> {
  const failures = new Map<string, Error>();
  const waiting = [...ids];
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const current = id;
      await act(current).catch((error: Error) => failures.set(current, error));
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return failures;
}
