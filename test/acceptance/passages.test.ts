// The export of passages: lines in order of change, which a vector store elsewhere follows.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { type Answer, bodyOf, expectRefusal, expectStatus } from './support/caller.ts';
import type { DocumentRecord, Library } from './support/library.ts';
import type { Person } from './support/people.ts';
import { type Setting, startSetting } from './support/setting.ts';

type LastLine = { next_cursor: string; more: boolean; embedding_model?: string | null };

type Line = {
  document_id: string;
  deleted?: true;
  passage: number;
  page: number | null;
  heading: string | null;
  text: string;
  start: number;
  end: number;
  changed_at: string;
  embedding?: number[];
};

let setting: Setting;
beforeAll(async () => {
  setting = await startSetting({ CONTENT: 'on' });
});
afterAll(() => setting.service[Symbol.asyncDispose]());

/** The lines of a page, and its last one. */
function readLines(answer: Answer): LastLine & { lines: Line[] } {
  expectStatus(answer, 200);
  expect(answer.headers.get('content-type')).toBe('application/jsonl; charset=utf-8');
  const rows = answer.text.trimEnd().split('\n');
  const lines = rows.map((row) => JSON.parse(row) as Line);
  return {
    lines: lines.slice(0, -1),
    ...(lines.at(-1) as unknown as LastLine),
  };
}

const follow = async (library: Library, cursor: string, limit = 1000) =>
  readLines(await library.exportPassages({ cursor, limit }));

async function readyPassages(library: Library, id: string): Promise<number> {
  const state = await library.whenRead<{ status: string; passages: number }>(id);
  expect(state).toMatchObject({ status: 'ready' });
  return state.passages;
}

const giveText = async (library: Library, id: string, text: string): Promise<number> => {
  expectStatus(await library.putContent(id, { text, format: 'markdown' }), 200);
  return readyPassages(library, id);
};

const section = (name: string): string =>
  `# ${name}\n\n${Array.from({ length: 60 }, (_, at) => `Sentence ${at} is about ${name} and its parts.`).join(' ')}\n\n`;

async function documentWith(person: Person, text: string, metadata: object = {}): Promise<DocumentRecord> {
  const document = await person.library.stored({ name: 'manual.md', ...metadata }, text);
  await readyPassages(person.library, document.id);
  return document;
}

/** The documents of which the caller gets passages from the beginning. */
const exported = async (library: Library): Promise<Set<string>> => {
  const ids = new Set<string>();
  for (let cursor = '', more = true; more; ) {
    const page = await follow(library, cursor);
    for (const { document_id } of page.lines) ids.add(document_id);
    ({ next_cursor: cursor, more } = page);
  }
  return ids;
};

describe('the export of passages', () => {
  test('has the lines of a document in its order, as the text says them, with pages of any size', async () => {
    const person = await setting.people.person();
    const { id } = await documentWith(person, section('Pumps') + section('Valves'));
    const text = (await person.library.content(id, { format: 'text' })).text;
    const lines: Line[] = [];
    let cursor = '';
    for (let more = true; more; ) {
      const page = await follow(person.library, cursor, 1);
      expect(page.lines.length).toBeLessThanOrEqual(1);
      lines.push(...page.lines.filter((line) => line.document_id === id));
      ({ next_cursor: cursor, more } = page);
    }
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.map(({ passage }) => passage)).toEqual(lines.map((_, at) => at));
    for (const line of lines) {
      expect(line).toEqual({
        document_id: id,
        passage: expect.any(Number),
        page: null,
        heading: expect.stringMatching(/^(Pumps|Valves)$/),
        text: [...text].slice(line.start, line.end).join(''),
        start: expect.any(Number),
        end: expect.any(Number),
        changed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      });
    }
    // The cursor goes on where nothing is yet.
    expect(await follow(person.library, cursor)).toMatchObject({ lines: [], more: false });
  });

  test('repeats a document that was replaced after a tombstone, and ends with one where it is hidden', async () => {
    const person = await setting.people.person();
    const { library } = person;
    const { id, name } = await documentWith(person, section('Pumps'));
    let { next_cursor: cursor } = await follow(library, '');
    const next = async (): Promise<(boolean | string | undefined)[]> => {
      const page = await follow(library, cursor);
      cursor = page.next_cursor;
      const own = page.lines.filter((line) => line.document_id === id);
      return own.map(({ deleted, text }) => deleted ?? text);
    };
    expect(await next()).toEqual([]);
    await giveText(library, id, 'Only this.');
    expect(await next()).toEqual([true, 'Only this.']);
    const steps: [change: () => Promise<Answer>, lines: (boolean | string)[]][] = [
      [() => library.patch(id, { summary: 'short', tags: ['a'] }), []],
      [() => library.patch(id, { status: 'public' }), [true, 'Only this.']],
      [() => library.archive(id), [true]],
      [() => library.unarchive(id), [true, 'Only this.']],
      [() => library.bin(id), [true]],
      [() => library.restore(id), [true, 'Only this.']],
      [() => library.putContent(id, { reading: 'off' }), [true]],
      [() => library.bin(id), [true]],
      [() => library.purge(id), [true]],
    ];
    for (const [change, lines] of steps) {
      expect((await change()).status).toBeLessThan(300);
      expect({ name, lines: await next() }).toEqual({ name, lines });
    }
    expect(await exported(library)).not.toContain(id);
  });

  test('has for each caller the documents that they may see, and says when they may not any more', async () => {
    const [owner, curator, other] = [
      await setting.people.person(),
      await setting.people.person(),
      await setting.people.person(),
    ];
    const access = { curators: [curator.email] };
    const open = await documentWith(owner, 'Open to all.', { status: 'public' });
    const shared = await documentWith(owner, 'Open to two.', { access });
    const own = await documentWith(owner, 'Open to one.');
    const archived = await documentWith(owner, 'Put away.', { status: 'public' });
    expectStatus(await owner.library.archive(archived.id), 200);
    const binned = await documentWith(owner, 'Thrown away.', { status: 'public', access });
    expectStatus(await owner.library.bin(binned.id), 204);
    const all = [open, shared, own, archived, binned].map(({ id }) => id);
    const table: [library: Library, documents: DocumentRecord[]][] = [
      [other.library, [open]],
      [curator.library, [open, shared]],
      [owner.library, [open, shared, own]],
      [setting.admin, [open, shared, own]],
    ];
    for (const [library, documents] of table) {
      const ids = await exported(library);
      expect(all.filter((id) => ids.has(id))).toEqual(documents.map(({ id }) => id));
    }
    // The curator learns that a document is gone; its id never reaches those who could not see it.
    const before = { curator: await follow(curator.library, ''), other: await follow(other.library, '') };
    expectStatus(await owner.library.patch(shared.id, { access: { curators: [] } }), 200);
    const after = {
      curator: await follow(curator.library, before.curator.next_cursor),
      other: await follow(other.library, before.other.next_cursor),
    };
    const tombstone = { document_id: shared.id, deleted: true };
    expect(after.curator.lines).toContainEqual(tombstone as Line);
    expect(JSON.stringify(after.other.lines)).not.toContain(shared.id);
  });

  test('has the embeddings of the workspace with `include=embeddings`, which compare with those of the gateway', async () => {
    const person = await setting.people.person();
    const { id } = await documentWith(person, section('Pumps'));
    const { lines, embedding_model: model } = await eventually('the document to be embedded', async () => {
      const answer = await person.library.exportPassages({ include: 'embeddings' });
      const page = readLines(answer);
      const own = page.lines.filter((line) => line.document_id === id);
      const embedded = own.length > 0 && own.every(({ embedding }) => embedding !== undefined);
      return embedded && { ...page, lines: own };
    });
    const [line] = lines;
    const vector = line?.embedding ?? [];
    const json = { model, input: [`${line?.heading}\n\n${line?.text}`, 'Nothing of the kind.'] };
    const answer = await setting.call('POST', '/v1/embeddings', {
      headers: { authorization: `Bearer ${setting.adminKey}` },
      json,
    });
    const { data } = bodyOf<{ data: { embedding: number[] }[] }>(answer, 200);
    const cosines = data.map(({ embedding }) =>
      embedding.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0),
    );
    expect(vector.length).toBe(data[0]?.embedding.length ?? -1);
    expect(cosines[0]).toBeGreaterThan(0.9);
    expect(cosines[1]).toBeLessThan(0.5);
    const { next_cursor: cursor } = await follow(person.library, '');
    expectStatus(await person.library.exportPassages({ cursor, include: 'embeddings' }), 410);
    expectStatus(await person.library.exportPassages({ include: 'vectors' }), 422);
  });

  test('refuses cursors that it has not given, and asks those with other rights to begin anew', async () => {
    const [person, other] = [await setting.people.person(), await setting.people.person()];
    const { next_cursor: cursor } = await follow(person.library, '');
    const damaged = `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`;
    for (const text of ['x', damaged, `${cursor}AA`, cursor.slice(4)])
      expectStatus(await person.library.exportPassages({ cursor: text }), 422);
    for (const limit of [0, 1001, 'many']) expectStatus(await person.library.exportPassages({ limit }), 422);
    expect(expectRefusal(await other.library.exportPassages({ cursor }), 410)).toMatch(/Begin without one/);
    expectStatus(await person.library.exportPassages({ cursor: '' }), 200);
  });
});
