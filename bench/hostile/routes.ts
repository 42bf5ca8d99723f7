// Every route of the service with what it takes, from the table that the router itself is made from: a new route is tried
// as soon as it exists.

import type { Operation } from '../../src/http/routes.ts';
import { allOperations } from '../../test/support/generated-pages.ts';

export type Target = {
  /** As the documentation names it. */
  name: string;
  method: string;
  path: string;
  /** What keeps a costly operation short, `?` included. */
  query: string;
  parameters: readonly string[];
  /** Header lines of the lowest caller that is let in; none where no credential is needed. */
  credential: readonly string[];
  body?: { mediaType: string; example: unknown } | undefined;
};

export type Callers = { keyWith(scope: string): Promise<string> };

/** Placeholder → what stands for it, where one that exists is needed to get further than 404. */
export type Places = Record<string, string>;

const BASE_QUERY: Record<string, string> = { n: '1' };

export async function listTargets(places: Places, callers: Callers): Promise<Target[]> {
  return Promise.all(
    (await allOperations()).map(async (operation) => ({
      name: `${operation.method} ${operation.path}`,
      method: operation.method,
      path: operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => places[name] ?? UNKNOWN),
      query: toQuery(operation),
      parameters: Object.keys(operation.query.properties),
      credential: await credentialOf(operation, callers),
      body: bodyOf(operation),
    })),
  );
}

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const toQuery = ({ query }: Operation): string =>
  Object.keys(query.properties)
    .filter((name) => BASE_QUERY[name] !== undefined)
    .map((name) => `?${name}=${BASE_QUERY[name]}`)
    .join('');

/** Models answer without a key on loopback. */
async function credentialOf({ credential, scope }: Operation, { keyWith }: Callers): Promise<string[]> {
  if (credential === 'none' || credential === 'models') return [];
  const key = await keyWith(scope ?? 'documents:read');
  if (credential === 'svc-key') return [`svc-key: ${key}`];
  if (credential === 'key-or-token' || credential === 'metrics') return [`authorization: Bearer ${key}`];
  return [`apikeyheader: ${key}`];
}

function bodyOf({ id, body }: Operation): Target['body'] {
  const [[mediaType, { example: stated }] = [undefined, { example: undefined }]] = Object.entries(
    body?.contents ?? {},
  );
  if (mediaType === undefined) return undefined;
  // Some are made when they are asked for: they name a model that there is.
  const example: unknown = typeof stated === 'function' ? stated() : stated;
  if (typeof example !== 'object' || example === null)
    throw new Error(`${id} has no example of a body, whose members could be tried`);
  return { mediaType, example };
}
