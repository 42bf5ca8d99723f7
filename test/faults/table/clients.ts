// The clients of the table that no seed has: they only read, and hold every answer against what has to be in it.

import { bodyOf } from '../../acceptance/support/caller.ts';
import { createLibrary, type DocumentRecord, freshName } from '../../acceptance/support/library.ts';
import { createPeople } from '../../acceptance/support/people.ts';
import { postFile } from '../../acceptance/support/uploads.ts';
import { createVisitor } from '../../support/oidc/visitor.ts';
import type { Client, Desk, Observe } from '../seeds/client.ts';

const FILES = 3;
const READING_MS = 60_000;

/** A client that asks again and again, and has nothing to lose. */
const reader = (desk: Desk, ask: () => Promise<void>, objects: string[] = []): Client => ({
  async work() {
    while (!desk.isOver()) {
      await ask();
      await desk.pause();
    }
  },
  settle: async () => undefined,
  keep: () => () => undefined,
  check: async () => [],
  objects: () => objects,
});

/** Documents of a person of its own, all of them with one word in their summary and their text. */
async function storeFiles(desk: Desk) {
  const { call, workspace, random } = desk;
  const { key } = await createPeople(call, { workspace, adminKey: desk.adminKey }).newKey();
  const library = createLibrary(call, { workspace, key });
  const word = `w${random.below(1e9).toString(36)}x`;
  const ids: string[] = [];
  const objects: string[] = [];
  for (let count = 0; count < FILES; count++) {
    const form = bodyOf<Parameters<typeof postFile>[0]>(await library.presign(), 201);
    await (await postFile(form, `The ${word} is what this text is about.`)).body?.cancel();
    const document_metadata = { name: freshName(), summary: `about ${word}`, tags: [word] };
    const json = { temp_key: form.fields['key'] ?? '', document_metadata };
    const record = bodyOf<DocumentRecord>(await library.confirm(json), 201);
    ids.push(record.id);
    objects.push(record.storage_url.replace(/^s3:\/\/[^/]+\//, ''));
  }
  return { key, library, word, ids: ids.toSorted(), objects };
}

export async function createSearchClient(desk: Desk): Promise<Client> {
  const { call, workspace, random } = desk;
  const { key, word, ids, objects } = await storeFiles(desk);
  return reader(
    desk,
    async () => {
      const query =
        random.pick([{ tags: `any:${word}` }, { q: word }, { summary: `contains:${word}` }]) ?? {};
      const answer = await desk.attempt([200], () => call('GET', `/v1/filter/${workspace}`, { key, query }));
      if (answer === undefined) return;
      const { items } = JSON.parse(answer.text) as { items: { id: string }[] };
      const found = items.map(({ id }) => id).toSorted();
      if (!Bun.deepEquals(found, ids))
        desk.violate('a search shows what is there', `${JSON.stringify(query)}: ${found}, not ${ids}`);
    },
    objects,
  );
}

export async function createRetrievalClient(desk: Desk): Promise<Client> {
  const { library, word, ids, objects } = await storeFiles(desk);
  const until = performance.now() + READING_MS;
  for (const id of ids) {
    const isRead = async (): Promise<boolean> => (await library.content(id)).text.includes('"ready"');
    while (!(await isRead())) {
      if (performance.now() > until) throw new Error('a document is not read');
      await Bun.sleep(100);
    }
  }
  return reader(
    desk,
    async () => {
      const answer = await desk.attempt([200], () => library.retrieve({ query: word, mode: 'words' }));
      if (answer === undefined) return;
      const { passages } = JSON.parse(answer.text) as { passages: { document_id: string }[] };
      const found = passages.map(({ document_id: id }) => id).toSorted();
      if (!Bun.deepEquals(found, ids)) desk.violate('retrieval shows what is there', `${found}, not ${ids}`);
    },
    objects,
  );
}

const NUMBERS = { from: 5, to: 25 };

export async function createComputeClient(desk: Desk): Promise<Client> {
  const { call, random } = desk;
  return reader(desk, async () => {
    const n = random.between(NUMBERS);
    await desk.attempt([200], () => call('GET', '/compute', { query: { n } }));
  });
}

/** Somebody who signs in at the provider. Only requests of the service count. */
export function createSignOnClient(
  desk: Desk,
  { url, observe, timeoutMs }: { url: string; observe: Observe; timeoutMs: number },
): Client {
  const host = new URL(url).hostname;
  const within = <Value>(work: Promise<Value>): Promise<Value> =>
    Promise.race([
      work,
      Bun.sleep(timeoutMs).then(() => {
        throw new Error('no answer in time');
      }),
    ]);
  const timed = async (work: Promise<{ status: number; headers: Headers }>) => {
    const beganAt = performance.now();
    const page = await within(work).catch(() => undefined);
    observe({ beganAt, ms: performance.now() - beganAt, status: page?.status ?? 0 });
    return page;
  };
  return reader(desk, async () => {
    const visitor = createVisitor();
    const until = /\/admin\/sign-on\/callback/;
    const begun = await timed(visitor.load(`${url}/admin/sign-on`));
    const location = begun?.headers.get('location') ?? null;
    if (location === null) return;
    try {
      const form = await within(visitor.visit(location, { via: [host], until }));
      const back = await within(visitor.visit(form.url, { via: [host], form: { login: 'visitor' }, until }));
      if (until.test(back.url)) await timed(visitor.load(back.url, { via: [host] }));
    } catch {
      // The provider is away, which its visitors see by themselves.
      await desk.pause();
    }
  });
}
