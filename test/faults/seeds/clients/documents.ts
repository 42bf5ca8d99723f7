// A person with documents. Of each it is known in which states it may be: one after an answer, several after none. Every
// later answer, and the look at the end, must be explained by one of them.

import { type Answer, bodyOf } from '../../../acceptance/support/caller.ts';
import { createLibrary, type DocumentRecord, freshName, md5 } from '../../../acceptance/support/library.ts';
import { createPeople } from '../../../acceptance/support/people.ts';
import { postFile } from '../../../acceptance/support/uploads.ts';
import type { Client, Desk } from '../client.ts';
import { RETENTION_SECONDS } from '../sweeps.ts';

type State = { phase: 'absent' | 'live' | 'binned'; archived: boolean; summary: string | null };

type Document = {
  name: string;
  md5: string;
  tempKey: string;
  postedAt: number;
  id: string | undefined;
  possible: State[];
  /** Asked, and not answered: nothing but the same is asked of it from then on, since it may yet take effect. */
  open: Change | undefined;
};

type Change = {
  what: string;
  expected(state: State): readonly number[];
  next(state: State): State;
  ask(document: Document): Promise<Answer>;
};

const ABSENT: State = { phase: 'absent', archived: false, summary: null };
const SUCCESSES = [200, 201, 204];

export async function createDocumentsClient(desk: Desk): Promise<Client> {
  const { random, call, workspace, violate } = desk;
  const { key } = await createPeople(call, { workspace, adminKey: desk.adminKey }).newKey();
  const library = createLibrary(call, { workspace, key });
  const documents: Document[] = [];
  let objects: string[] = [];

  const idOf = ({ id, name }: Document): string => id ?? name;
  const toLive = (state: State): State => ({ ...state, phase: 'live' });
  const changes = {
    confirm: (): Change => ({
      what: 'confirm',
      expected: () => [201],
      next: (state) => (state.phase === 'absent' ? toLive(ABSENT) : state),
      ask: ({ tempKey, name }) => library.confirm({ temp_key: tempKey, document_metadata: { name } }),
    }),
    patch: (): Change => {
      const summary = `s${random.below(1e9)}`;
      return {
        what: `patch ${summary}`,
        expected: ({ phase }) => (phase === 'live' ? [200] : phase === 'binned' ? [409] : [404]),
        next: (state) => ({ ...state, summary }),
        ask: (document) => library.patch(idOf(document), { summary }),
      };
    },
    archive: (): Change => {
      const archived = random.chance(0.5);
      return {
        what: archived ? 'archive' : 'un-archive',
        expected: ({ phase }) => (phase === 'live' ? [200] : phase === 'binned' ? [409] : [404]),
        next: (state) => ({ ...state, archived }),
        ask: (document) => (archived ? library.archive : library.unarchive)(idOf(document)),
      };
    },
    bin: (): Change => ({
      what: 'bin',
      expected: ({ phase }) => (phase === 'live' ? [204] : [404]),
      next: (state) => ({ ...state, phase: 'binned' }),
      ask: (document) => library.bin(idOf(document)),
    }),
    restore: (): Change => ({
      what: 'restore',
      expected: ({ phase }) => (phase === 'binned' ? [200] : [404]),
      next: toLive,
      ask: (document) => library.restore(idOf(document)),
    }),
    purge: (): Change => ({
      what: 'purge',
      expected: ({ phase }) => (phase === 'binned' ? [204] : [404]),
      next: () => ABSENT,
      ask: (document) => library.purge(idOf(document)),
    }),
  };

  const succeeds = (change: Change, state: State): boolean =>
    change.expected(state).some((status) => SUCCESSES.includes(status));

  const make = async (document: Document, change: Change): Promise<void> => {
    const before = document.possible;
    const all = [...new Set([...before.flatMap(change.expected), 404])];
    const answer = await desk.attempt([...all, 409], () => change.ask(document));
    if (answer === undefined) {
      document.open = change;
      document.possible = distinct([
        ...before,
        ...before.filter((state) => succeeds(change, state)).map(change.next),
      ]);
      return;
    }
    if (answer.status === 404 && change.what === 'confirm' && mayBeSwept(document)) {
      document.open = undefined;
      document.possible = [ABSENT];
      return;
    }
    const explaining = before.filter((state) => change.expected(state).includes(answer.status));
    const success = SUCCESSES.includes(answer.status);
    if (explaining.length === 0)
      violate('what was acknowledged is there', `${change.what}: ${answer.status} ${describe(document)}`);
    // What was asked before, and got no answer, may come late: only the same may be asked again.
    else if (document.open === undefined || success)
      document.possible = distinct(success ? explaining.map(change.next) : explaining);
    if (change.what === 'confirm' && success) take(document, JSON.parse(answer.text) as DocumentRecord);
    if (success && document.open === undefined && random.chance(0.3)) await seeOwnWrite(document);
  };

  const take = (document: Document, record: DocumentRecord): void => {
    if (document.id !== undefined && document.id !== record.id)
      violate('one upload is one document', `${record.id} beside ${describe(document)}`);
    if (record.file_hash !== document.md5)
      violate('a record describes the bytes that were posted', JSON.stringify(record));
    document.id = record.id;
  };

  /** The filter shows at once what was acknowledged. */
  const seeOwnWrite = async (document: Document): Promise<void> => {
    const answer = await desk.attempt([200], () =>
      call('GET', `/v1/filter/${workspace}`, { key, query: { name: `eq:${document.name}` } }),
    );
    if (answer === undefined) return;
    const { items } = JSON.parse(answer.text) as { items: DocumentRecord[] };
    const [state = ABSENT] = document.possible;
    const expected = state.phase === 'live' && !state.archived ? [state.summary] : [];
    if (
      !Bun.deepEquals(
        items.map(({ summary }) => summary),
        expected,
      )
    )
      violate('a search shows what was acknowledged before it', `${describe(document)}: ${answer.text}`);
  };

  const upload = async (): Promise<void> => {
    const presigned = await desk.attempt([201], () => library.presign());
    if (presigned === undefined) return;
    const form = JSON.parse(presigned.text) as Parameters<typeof postFile>[0];
    const content = new Uint8Array(random.chance(0.1) ? 300_000 : random.below(5000)).fill(random.below(256));
    const postedAt = performance.now();
    const posted = await postFile(form, content).catch(() => undefined);
    await posted?.body?.cancel().catch(() => undefined);
    if (posted?.status !== 204) return;
    const document: Document = {
      name: freshName(),
      md5: md5(content),
      tempKey: form.fields['key'] ?? '',
      postedAt,
      id: undefined,
      possible: [ABSENT],
      open: undefined,
    };
    documents.push(document);
    // A client that never comes back leaves an upload behind.
    if (random.chance(0.9)) await make(document, changes.confirm());
  };

  const mayBeSwept = ({ postedAt, possible }: Document): boolean =>
    possible.some(({ phase }) => phase === 'absent') &&
    (desk.parts.steppedClock || performance.now() - postedAt > (RETENTION_SECONDS - 1) * 1000);

  const step = async (): Promise<void> => {
    const open = documents.filter((document) => document.open !== undefined);
    const again = random.pick(open);
    if (again?.open !== undefined && random.chance(0.4)) return make(again, again.open);
    const settled = documents.filter(({ id, open: asked }) => id !== undefined && asked === undefined);
    const document = random.pick(settled);
    if (document === undefined || random.chance(0.35)) return upload();
    const [state = ABSENT] = document.possible;
    const names = {
      absent: [],
      live: ['patch', 'patch', 'archive', 'bin', 'confirm'],
      binned: ['restore', 'purge', 'bin'],
    };
    const name = random.pick(names[state.phase] as (keyof typeof changes)[]);
    if (name !== undefined) await make(document, changes[name]());
  };

  /** What the service shows of one; its object, where it has one. */
  const look = async (
    document: Document,
    archived: Set<string>,
  ): Promise<{ state: State; record?: DocumentRecord }> => {
    const answer = await library.detail(idOf(document));
    if (answer.status === 404) return { state: ABSENT };
    const record = bodyOf<DocumentRecord>(answer, 200);
    const phase = record.status === 'deleted' ? 'binned' : 'live';
    return { state: { phase, archived: archived.has(record.id), summary: record.summary }, record };
  };

  return {
    async work() {
      while (!desk.isOver()) {
        await step();
        await desk.pause();
      }
    },
    async settle() {
      for (const document of documents) if (document.open !== undefined) await make(document, document.open);
    },
    keep() {
      const kept = documents.map((document) => ({ ...document }));
      return () => documents.splice(0, documents.length, ...kept);
    },
    async check() {
      const problems: string[] = [];
      const archived = new Set((await library.archived({ limit: 100 })).items.map(({ id }) => id));
      const expected: Record<'listed' | 'archived' | 'binned', string[]> = {
        listed: [],
        archived: [],
        binned: [],
      };
      const found: string[] = [];
      for (const document of documents) {
        const { state, record } = await look(document, archived);
        const isKnown = document.possible.some((each) => isSame(each, state));
        if (!isKnown)
          problems.push(`a document is as acknowledged: ${JSON.stringify(state)}, ${describe(document)}`);
        if (record === undefined) continue;
        take(document, record);
        found.push(record.storage_url.replace(/^s3:\/\/[^/]+\//, ''));
        expected[state.phase === 'binned' ? 'binned' : state.archived ? 'archived' : 'listed'].push(
          record.id,
        );
        if (state.phase !== 'live') continue;
        const response = await fetch(await library.link(record.id));
        if (md5(await response.bytes()) !== document.md5)
          problems.push(`the bytes are those that were posted: ${describe(document)}`);
      }
      objects = found;
      const lists = {
        listed: await listAll(),
        archived: [...archived],
        binned: (await library.binned({ limit: 100 })).items.map(({ id }) => id),
      };
      for (const name of ['listed', 'archived', 'binned'] as const) {
        if (Bun.deepEquals(lists[name].toSorted(), expected[name].toSorted())) continue;
        problems.push(
          `each document is in its list, once: ${name} has ${lists[name]}, not ${expected[name]}`,
        );
      }
      return problems;
    },
    objects: () => objects,
  };

  async function listAll(): Promise<string[]> {
    const ids: string[] = [];
    for (let page = 1; ; page++) {
      const answer = await call('GET', `/v1/filter/${workspace}`, { key, query: { page, size: 100 } });
      const { items, total } = bodyOf<{ items: DocumentRecord[]; total: number }>(answer, 200);
      ids.push(...items.map(({ id }) => id));
      if (items.length === 0 || ids.length >= total) return ids;
    }
  }
}

/** The archive does not list what is in the bin: there, whether it is archived cannot be seen. */
const isSame = (one: State, other: State): boolean =>
  one.phase === other.phase &&
  (one.phase === 'absent' ||
    (one.summary === other.summary && (one.phase === 'binned' || one.archived === other.archived)));

const distinct = (states: readonly State[]): State[] => [
  ...new Map(states.map((state) => [JSON.stringify(state), state])).values(),
];

const describe = ({ name, id, tempKey, possible, open, postedAt }: Document): string =>
  JSON.stringify({
    name,
    id,
    tempKey,
    possible,
    open: open?.what,
    ageMs: Math.round(performance.now() - postedAt),
  });
