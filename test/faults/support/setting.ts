// A service on a database and a store that the test can take away.

import type { Caller } from '../../acceptance/support/caller.ts';
import { createLibrary, type Library, md5 } from '../../acceptance/support/library.ts';
import { createPeople, type People } from '../../acceptance/support/people.ts';
import { eventually } from '../../support/child.ts';
import { type RealStoreUnderTest, startRealStore } from '../../support/object-stores.ts';
import { type PostgresUnderTest, startPostgresServer } from '../../support/postgres-server.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../support/service.ts';
import { createPlainCaller } from './caller.ts';

/** Longer than any answer may take, whatever is away. */
export const ANSWER_MS_MAX = 20_000;

export const EVERY_SCOPE = [
  'documents:read',
  'documents:write',
  'models',
  'chat',
  'bots',
  'metrics',
  'admin',
  'operator',
];

export type Client = { call: Caller; library: Library; people: People };

/** A client of the service, by default with the key that has every scope. */
export function createClient({ url }: { url: string }, key = BOOTSTRAP_KEY): Client {
  const call = createPlainCaller(url, ANSWER_MS_MAX);
  return {
    call,
    library: createLibrary(call, { workspace: WORKSPACE, key }),
    people: createPeople(call, { workspace: WORKSPACE, adminKey: key }),
  };
}

export type Setting = AsyncDisposable & {
  postgres: PostgresUnderTest;
  store: RealStoreUnderTest;
  service: RunningService;
  client: Client;
  /** What a service needs that shall stand on the same database and store. */
  environment: Record<string, string>;
};

export async function startSetting(): Promise<Setting> {
  await using begun = new AsyncDisposableStack();
  const postgres = await startPostgresServer();
  begun.defer(postgres.stop);
  const store = await startRealStore('minio');
  begun.defer(store.stop);
  // Files are read, so that the operations of contents need the database as the others do.
  const environment = { DATABASE_URL: postgres.url, ...store.environment, CONTENT: 'on' };
  const service = begun.use(await startService({ environment }));
  const kept = begun.move();
  return {
    postgres,
    store,
    service,
    environment,
    client: createClient(service),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export type Readiness = { status: string; services: Record<string, { state: string }> };

export async function readiness({ call }: Client): Promise<Readiness & { code: number }> {
  const answer = await call('GET', '/readyz');
  return { code: answer.status, ...(JSON.parse(answer.text) as Readiness) };
}

export const becomesReady = (client: Client): Promise<unknown> =>
  eventually('the service to be ready', async () => (await readiness(client)).status === 'ready');

/**
 * Confirms as a patient client does: again after each 503. Returns the record's id; there is one, however often. A confirm
 * before it, whose answer was a 503, may have taken effect, so that it has to be repeated with the same name.
 */
export async function confirmPatiently(
  { library }: Client,
  tempKey: string,
  name = `${tempKey.slice(-12)} patient.txt`,
): Promise<string> {
  const body = { temp_key: tempKey, document_metadata: { name } };
  const confirm = async (): Promise<string | undefined> => {
    const { status, text } = await library.confirm(body);
    if (status !== 201 && status !== 503) throw new Error(`the repeated confirm: ${status} ${text}`);
    return status === 201 ? (JSON.parse(text).id as string) : undefined;
  };
  const first = await eventually('the confirm to succeed', confirm);
  const again = await eventually('the same once more', confirm);
  const named = await library.read(body.document_metadata.name);
  if (first !== again || named.id !== first) throw new Error(`three records: ${[first, again, named.id]}`);
  return first;
}

/** The file behind a document, by a fresh URL. */
export async function download({ library }: Client, id: string): Promise<string> {
  const response = await fetch(await library.link(id), { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  if (response.status !== 200) throw new Error(`the download: ${response.status}`);
  return md5(await response.bytes());
}
