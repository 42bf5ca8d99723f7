// Documents of a running service.

import { expect } from 'bun:test';
import { type Descriptor, upload } from '../acceptance/support/uploads.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';

export const headers = { APIKeyHeader: BOOTSTRAP_KEY, authorization: BOOTSTRAP_KEY };

/** Expects success. */
export async function ask<Answer>(url: string, method: string, path: string, json?: object): Promise<Answer> {
  const body = json === undefined ? undefined : JSON.stringify(json);
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status).toBeLessThan(300);
  const text = await answer.text();
  return (text === '' ? undefined : JSON.parse(text)) as Answer;
}

export async function addDocument(url: string, name: string, content: string): Promise<{ id: string }> {
  const descriptor = await ask<Descriptor>(url, 'GET', `/v1/${WORKSPACE}/presigned/url`);
  await upload(descriptor, content);
  const { key } = descriptor.fields;
  return ask(url, 'POST', `/v1/${WORKSPACE}/upload/confirm`, {
    temp_key: key,
    document_metadata: { name },
  });
}

/** By which the file can be downloaded. */
export const urlOf = (url: string, { id }: { id: string }): Promise<string> =>
  ask(url, 'GET', `/v1/${WORKSPACE}/file/${id}/download/url`);
