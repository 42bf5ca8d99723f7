// The answers to the requests of requests.ts, in the form in which they are recorded.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Document, requestsOf, send } from './requests.ts';

export const RECORDED = join(import.meta.dir, 'recorded.jsonl');

/** `body`: the digest of a long one. */
export type Recorded = { name: string; status: number; headers: Record<string, string>; body: string };

const BODY_LENGTH_MAX = 400;

/** Sends the requests whose name `wanted` accepts, one after the other. */
export async function answersOf(
  url: string,
  key: string,
  wanted: (name: string) => boolean,
): Promise<Recorded[]> {
  const document = (await (await fetch(`${url}/docs/json`)).json()) as Document;
  const answered: Recorded[] = [];
  for (const request of requestsOf(document, key)) {
    if (!wanted(request.name)) continue;
    const { status, headers, body } = await send(url, request);
    answered.push({
      name: request.name,
      status,
      headers,
      body: body.length <= BODY_LENGTH_MAX ? body : createHash('sha256').update(body).digest('hex'),
    });
  }
  return answered;
}
