// Files that take long: they leave their turn to others, are not tried again, and are given up when their document is gone.

import { afterAll, expect, test } from 'bun:test';
import { SERVICE } from '../../../src/core/author.ts';
import { newId } from '../../../src/core/ids.ts';
import { FIRST_READING_CEILINGS } from '../../../src/documents/content/limits.ts';
import { SLOW_READING } from '../../../src/documents/content/queueing.ts';
import { createReadDocument } from '../../../src/documents/content/read-document.ts';
import { createReader } from '../../../src/documents/content/reader-process.ts';
import { createContentStates } from '../../../src/documents/content/states.ts';
import { createContentStore } from '../../../src/documents/content/store.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import { createSearchEntries } from '../../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../../src/documents/store.ts';
import { isAlive } from '../../../src/embedded/postgres/processes.ts';
import { eventually } from '../../support/child.ts';
import { testDatabase } from '../../support/database.ts';
import { bombPdf, slowPdf } from '../../support/files.ts';
import { shared } from '../../support/shared.ts';
import { newDocument } from '../new-document.ts';

const { sql } = await shared(testDatabase());
const contents = createContentStore(sql);
const states = createContentStates(sql);
const documents = createDocumentStore(sql, createSearchEntries(), { reads: true });

let file: Uint8Array<ArrayBuffer> = slowPdf(20_000);
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(file) });
afterAll(() => server.stop(true));

const viewer: Viewer = { workspaceId: 'acme', userId: newId(), email: 'a@b', admin: false };

async function added(): Promise<string> {
  const document = { ...newDocument(viewer), name: 'slow.pdf', contentType: 'application/pdf' };
  await documents.insert(document);
  return document.id;
}

function createReading(ceilings: Partial<typeof FIRST_READING_CEILINGS>, postponed?: () => void) {
  const environment = { PATH: process.env['PATH'] };
  const reader = createReader({ environment, ceilings: { ...FIRST_READING_CEILINGS, ...ceilings } });
  const read = createReadDocument({
    store: contents,
    objects: { readUrl: async () => server.url.href },
    reader,
    ...(postponed === undefined ? {} : { postponed }),
    bytesMax: 100_000_000,
    log: { info() {}, warn() {}, error() {}, debug() {} } as never,
  });
  return { reader, read, [Symbol.dispose]: () => reader.end() };
}

const attemptsOf = async (id: string): Promise<number | undefined> => {
  const rows = await sql<
    { attempts: number }[]
  >`SELECT attempts FROM document_contents WHERE document_id = ${id}`;
  return rows[0]?.attempts;
};

test('a file that takes long at its first reading is left to the process for slow ones, and no attempt is counted', async () => {
  let postponed = 0;
  using first = createReading({ workedMsMax: 1000 }, () => postponed++);
  const id = await added();
  expect(await first.read(id)).toBe('done');
  expect(postponed).toBe(1);
  expect(await states.find(viewer, id)).toMatchObject({ state: 'pending' });
  expect(await attemptsOf(id)).toBe(0);
  const jobs = await sql`
    SELECT share FROM jobs WHERE kind = ${SLOW_READING} AND payload = ${sql.json({ document: id, workspace: 'acme' })}`;
  expect(jobs.map(({ share }) => share)).toEqual(['acme']);
});

test('a file that exceeds its time is not tried again', async () => {
  using reading = createReading({ workedMsMax: 1000 });
  const id = await added();
  expect(await reading.read(id)).toBe('done');
  expect(await states.find(viewer, id)).toMatchObject({
    state: 'failed',
    reason: 'the file takes too long to be read',
  });
  expect(await attemptsOf(id)).toBe(1);
});

test('a file that needs too much memory is tried again, and is not left to the process for slow ones', async () => {
  file = bombPdf();
  using first = createReading({ memoryBytesMax: 500_000_000 }, () => expect.unreachable());
  const id = await added();
  expect(await first.read(id)).toEqual({ retry: 'the file needs too much memory to be read' });
  expect(await attemptsOf(id)).toBe(1);
});

test.each([
  [
    'was purged',
    async (id: string) => {
      await documents.bin(viewer, id, SERVICE);
      await documents.purge(viewer, id, SERVICE);
    },
  ],
  ['is not to be read any more', (id: string) => contents.switchOff(viewer, id, SERVICE)],
  [
    'has another text by now',
    (id: string) => contents.give(viewer, id, { text: 'new', format: 'text', language: null }, SERVICE),
  ],
] as const)('a reading ends where its document %s', async (_what, leave) => {
  file = slowPdf(20_000);
  const none = Number.MAX_SAFE_INTEGER;
  using reading = createReading({ workedMsMax: none, elapsedMsMax: none });
  const id = await added();
  const outcome = reading.read(id);
  let pid = 0;
  await eventually('the reading to begin', async () => {
    pid = reading.reader.pid() ?? 0;
    return pid !== 0;
  });
  await leave(id);
  expect(await outcome).toBe('done');
  await eventually('its process to be gone', () => !isAlive(pid));
});
