// A person whose documents have texts that are replaced, and that go to the bin, come back and are purged. In the end the export
// and retrieval show exactly the passages of the last text of each document: none twice, and none of a document that is
// purged or in the bin.

import { type Answer, bodyOf } from '../../../acceptance/support/caller.ts';
import { createLibrary, type DocumentRecord, freshName } from '../../../acceptance/support/library.ts';
import { createPeople } from '../../../acceptance/support/people.ts';
import { postFile } from '../../../acceptance/support/uploads.ts';
import { eventually } from '../../../support/child.ts';
import type { Client, Desk } from '../client.ts';

const DOCUMENTS = 4;
const PASSAGES_MAX = 4;
/** Of the words that no text has any more, the last few are sought. */
const REPLACED_SOUGHT = 3;
const PAUSE_MS = { from: 60, to: 250 };
const SENTENCES = 'A sentence of the text that is long enough for a passage. '.repeat(24).trim();

/** `word` stands in each passage of the text, and in no other text. */
type State = { phase: 'live' | 'binned' | 'purged'; word: string; passages: number };
type Document = { id: string; object: string; possible: State[]; open: Change | undefined };
type Change = {
  what: string;
  statuses: readonly number[];
  /** From which phase it succeeds. */
  from: State['phase'];
  next(state: State): State;
  ask(id: string): Promise<Answer>;
};
type Line = {
  document_id: string;
  deleted?: true;
  passage: number;
  text: string;
  next_cursor?: string;
  more?: boolean;
};

export async function createKnowledgeClient(desk: Desk): Promise<Client> {
  const { random, call, workspace, violate } = desk;
  const { key } = await createPeople(call, { workspace, adminKey: desk.adminKey }).newKey();
  const library = createLibrary(call, { workspace, key });
  const words: string[] = [];
  const documents: Document[] = [];
  let objects: string[] = [];

  const newText = (): Pick<State, 'word' | 'passages'> => {
    const word = `w${random
      .below(1e9)
      .toString(26)
      .replaceAll(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] ?? '')}x`;
    words.push(word);
    return { word, passages: random.between({ from: 1, to: PASSAGES_MAX }) };
  };
  const write = ({ word, passages }: Pick<State, 'word' | 'passages'>): string =>
    Array.from({ length: passages }, (_, at) => `# ${word} ${at}\n\n${word} ${at} ${SENTENCES}`).join('\n\n');
  const changes = {
    give: (): Change => {
      const text = newText();
      return {
        what: `give ${text.word}`,
        statuses: [200, 404, 409],
        from: 'live',
        next: (state) => ({ ...state, ...text }),
        ask: (id) => library.putContent(id, { text: write(text), format: 'markdown' }),
      };
    },
    bin: (): Change => ({
      what: 'bin',
      statuses: [204, 404],
      from: 'live',
      next: (state) => ({ ...state, phase: 'binned' }),
      ask: library.bin,
    }),
    restore: (): Change => ({
      what: 'restore',
      statuses: [200, 404],
      from: 'binned',
      next: (state) => ({ ...state, phase: 'live' }),
      ask: library.restore,
    }),
    purge: (): Change => ({
      what: 'purge',
      statuses: [204, 404],
      from: 'binned',
      next: (state) => ({ ...state, phase: 'purged' }),
      ask: library.purge,
    }),
  };
  const make = async (document: Document, change: Change): Promise<void> => {
    const succeeding = document.possible.filter(({ phase }) => phase === change.from);
    const answer = await desk.attempt(change.statuses, () => change.ask(document.id));
    if (answer === undefined) {
      document.open = change;
      document.possible = distinct([...document.possible, ...succeeding.map(change.next)]);
    } else if (answer.status < 300) {
      if (succeeding.length === 0) contradict(document, change, answer);
      // What was asked before, and got no answer, may still come: it is the same.
      else document.possible = distinct(succeeding.map(change.next));
    } else if (answer.status === 404 && document.open === undefined) contradict(document, change, answer);
  };
  const contradict = (document: Document, { what }: Change, { status }: Answer): void =>
    violate('what was acknowledged is there', `${what}: ${status}, ${describe(document)}`);
  const step = async (): Promise<void> => {
    const document = random.pick(documents.filter(({ possible: [state] }) => state?.phase !== 'purged'));
    if (document === undefined) return;
    // What was asked and not answered may take effect late: only the same is asked again.
    if (document.open !== undefined) return make(document, document.open);
    const [state] = document.possible;
    const names =
      state?.phase === 'live' ? (['give', 'give', 'give', 'bin'] as const) : (['restore', 'purge'] as const);
    await make(document, changes[random.pick(names) ?? 'give']());
  };

  for (let count = 0; count < DOCUMENTS; count++) {
    const text = newText();
    // Uploads are swept after seconds, which a starved machine may need before it confirms: then it is sent again.
    const { id, storage_url: url } = await eventually('a document', async () => {
      const form = bodyOf<Parameters<typeof postFile>[0]>(await library.presign(), 201);
      await (await postFile(form, write(text))).body?.cancel();
      const json = { temp_key: form.fields['key'] ?? '', document_metadata: { name: freshName('md') } };
      const answer = await library.confirm(json);
      return answer.status !== 404 && bodyOf<DocumentRecord>(answer, 201);
    });
    const object = url.replace(/^s3:\/\/[^/]+\//, '');
    documents.push({ id, object, possible: [{ phase: 'live', ...text }], open: undefined });
  }

  return {
    async work() {
      while (!desk.isOver()) {
        await step();
        await Bun.sleep(random.between(PAUSE_MS));
      }
    },
    async settle() {
      for (const document of documents) if (document.open !== undefined) await make(document, document.open);
    },
    keep() {
      const kept = documents.map((document) => ({ ...document, possible: [...document.possible] }));
      return () => documents.splice(0, documents.length, ...kept);
    },
    async check() {
      const exported = await readExport();
      objects = [];
      const problems: string[] = [];
      for (const document of documents) {
        const { status } = await library.detail(document.id);
        if (status !== 404) objects.push(document.object);
        const found = exported.get(document.id) ?? [];
        exported.delete(document.id);
        // Several of the possible states may show the same passages: none, in the bin and purged.
        const shown = document.possible.filter((state) => Bun.deepEquals(found, passagesOf(state)));
        if (shown.length === 0)
          problems.push(`passages are those of the last text: ${found.join(' | ')}, ${describe(document)}`);
        else if (!shown.some(({ phase }) => (phase === 'purged') === (status === 404)))
          problems.push(`a document and its passages go together: ${status}, ${describe(document)}`);
      }
      if (exported.size > 0)
        problems.push(`no passage is of a document that is not there: ${[...exported.keys()]}`);
      return [...problems, ...(await checkRetrieval())];
    },
    objects: () => objects,
  };

  async function readExport(): Promise<Map<string, string[]>> {
    const found = new Map<string, string[]>();
    for (let cursor = ''; ; ) {
      const answer = await library.exportPassages({ cursor, limit: 1000 });
      const lines = bodyLines(answer);
      for (const { document_id: id, deleted, passage, text } of lines.filter(
        (line) => 'document_id' in line,
      )) {
        if (deleted === true) found.delete(id);
        else found.set(id, [...(found.get(id) ?? []), `${passage} ${text.match(/w[a-z]+x \d+/)?.[0]}`]);
      }
      const last = lines.at(-1);
      if (last?.next_cursor === undefined || last.more !== true) return found;
      cursor = last.next_cursor;
    }
  }

  /** By its word each text that is shown is found whole and once; replaced ones are not found. */
  async function checkRetrieval(): Promise<string[]> {
    const problems: string[] = [];
    const certain = documents.flatMap(({ possible: [state, ...others] }) =>
      state === undefined || others.length > 0 ? [] : [state],
    );
    const live = certain.filter(({ phase }) => phase === 'live');
    const gone = certain.filter(({ phase }) => phase !== 'live');
    const known = new Set(documents.flatMap(({ possible }) => possible.map(({ word }) => word)));
    const replaced = words.filter((word) => !known.has(word)).slice(-REPLACED_SOUGHT);
    for (const { word, passages } of [
      ...live,
      ...gone.map(({ word }) => ({ word, passages: 0 })),
      ...replaced.map((word) => ({ word, passages: 0 })),
    ]) {
      const answer = await library.retrieve({ query: word, mode: 'words', limit: 50 });
      const found = bodyOf<{ passages: { document_id: string; start: number; text: string }[] }>(answer, 200)
        .passages.filter(({ text }) => text.includes(word))
        .map(({ document_id: id, start }) => `${id} ${start}`);
      if (found.length !== passages || new Set(found).size < found.length)
        problems.push(`retrieval finds each passage once: ${found.length} of ${passages} with ${word}`);
    }
    return problems;
  }
}

const bodyLines = ({ status, text }: Answer): Line[] => {
  if (status !== 200) throw new Error(`the export: ${status} ${text}`);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
};

/** As the export is noted: the number of a passage, its word and the number in its text. */
const passagesOf = ({ phase, word, passages }: State): string[] =>
  phase === 'live' ? Array.from({ length: passages }, (_, at) => `${at} ${word} ${at}`) : [];

const distinct = (states: readonly State[]): State[] => [
  ...new Map(states.map((state) => [JSON.stringify(state), state])).values(),
];

const describe = ({ id, possible, open }: Document): string =>
  `${id}: ${JSON.stringify(possible)}${open === undefined ? '' : `, ${open.what} is open`}`;
