// Step 2 of an upload: the client posts the file to the object store itself.

import { expect } from 'bun:test';

export type Content = Uint8Array<ArrayBuffer> | string;
export type Descriptor = { url: string; fields: Record<string, string> };

const ATTEMPTS_MAX = 5;

/** Posts a file with every entry of `fields`, the file last. The caller reads the answer's status. */
export async function postFile(
  descriptor: Descriptor,
  content: Content,
  fields: Record<string, string> = {},
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...descriptor.fields, ...fields })) form.append(name, value);
    form.append('file', new Blob([content]), 'file');
    const response = await fetch(descriptor.url, { method: 'POST', body: form });
    // Versity on a file system: the removal of the last object below temp/<workspace>/ takes the folder away, and
    // an upload that is just entering it is refused with 409. Any S3 client repeats such a request.
    if (response.status !== 409 || attempt === ATTEMPTS_MAX) return response;
    await response.body?.cancel();
  }
}

/** Posts a file that the store has to accept. */
export async function upload(descriptor: Descriptor, content: Content): Promise<void> {
  const response = await postFile(descriptor, content);
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({ status: 204, text: '' });
}
