// The calls that the bench makes, without the checks of the acceptance tests.

import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';

export type Library = ReturnType<typeof createLibrary>;

/** Throws for an answer that is no success. */
export function createLibrary(url: string) {
  async function ask<Body>(method: string, path: string, json?: unknown): Promise<Body> {
    const response = await fetch(`${url}/v1/${WORKSPACE}/${path}`, {
      method,
      headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Body;
  }
  return {
    ask,
    /** Returns the temporary key. */
    async uploaded(content: string | Uint8Array<ArrayBuffer>): Promise<string> {
      const form = await ask<{ url: string; fields: Record<string, string> }>('GET', 'presigned/url');
      const body = new FormData();
      for (const [name, value] of Object.entries(form.fields)) body.append(name, value);
      body.append('file', new Blob([content]), 'file');
      const response = await fetch(form.url, { method: 'POST', body });
      if (!response.ok) throw new Error(`the store answers ${response.status} ${await response.text()}`);
      return form.fields['key'] ?? '';
    },
    /** Returns the document's id. */
    confirm: async (body: object): Promise<string> =>
      (await ask<{ id: string }>('POST', 'upload/confirm', body)).id,
    switchOn: (ids: readonly string[]) =>
      Promise.all(ids.map((id) => ask('PUT', `file/${id}/content`, { reading: 'on' }))),
    /** Whether any document is to be read. */
    async isReading(): Promise<boolean> {
      const { items } = await ask<{ items: unknown[] }>('GET', 'contents?status=pending&limit=1');
      return items.length > 0;
    },
    async pending(ids: readonly string[]): Promise<number> {
      let count = 0;
      for (let from = 0; from < ids.length; from += 100) {
        const query = ids.slice(from, from + 100).map((id) => `document_id=${id}`);
        const { items } = await ask<{ items: { status: string }[] }>(
          'GET',
          `contents?limit=100&${query.join('&')}`,
        );
        count += items.filter(({ status }) => status === 'pending').length;
      }
      return count;
    },
  };
}
