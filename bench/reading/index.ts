// Reading the files of documents: what it costs other requests, whether memory stays as it is while many are read, the largest
// files, and how soon the text of a new one is found.

import { parseArgs } from 'node:util';
import { createReader } from '../../src/documents/content/reader-process.ts';
import { eventually } from '../../test/support/child.ts';
import { pdf, xlsx } from '../../test/support/files.ts';
import { type RunningService, startService } from '../../test/support/service.ts';
import { measureBeside } from '../lib/latencies.ts';
import { memoryMiB } from '../lib/process.ts';
import { printTable, whole } from '../lib/report.ts';
import { createLibrary, type Library } from './library.ts';

const OPTIONS = {
  documents: { type: 'string', default: '2000' },
  rounds: { type: 'string', default: '4' },
  /** Documents that are read while a round measures. */
  'round-documents': { type: 'string', default: '250' },
} as const;

/** Of the process that reads (src/documents/content/reader.ts). */
const READER_NICENESS = 15;
const ENDS_WITHIN_MS = 3_600_000;
const WORDS =
  'pump seal valve tank water pressure oil spring workshop manual night morning check open close change small large'.split(
    ' ',
  );

/** Prose of a number, the same each time. */
function prose(number: number, sentences: number): string {
  const word = (at: number): string => WORDS[(number * 31 + at * 17 + ((at * at) % 7)) % WORDS.length] ?? '';
  return Array.from({ length: sentences }, (_, sentence) => {
    const words = Array.from({ length: 12 }, (_word, at) => word(sentence * 12 + at));
    return `The ${words.join(' ')}.`;
  }).join(' ');
}

/** Pages of 40 lines of 80 letters. */
const pages = (count: number) =>
  pdf(
    Array.from({ length: count }, (_, page) =>
      Array.from({ length: 40 }, (_line, line) => ({
        x: 50,
        y: 780 - 18 * line,
        text: `${page}.${line} ${prose(page * 40 + line, 1)}`.slice(0, 80),
      })),
    ),
  );

export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
  const [documents, rounds, perRound] = [values.documents, values.rounds, values['round-documents']].map(
    Number,
  ) as [number, number, number];
  await largest();
  await using service = await startService({ environment: { CONTENT: 'on' }, postgres: 'embedded' });
  const library = createLibrary(service.url);
  await visible(library, rounds);
  const ids = await store(library, documents);
  await beside(service, library, { rounds, perRound, ids });
  await memory(service, library, ids.slice(rounds * perRound));
}

/** Documents whose files are not read yet. */
async function store(library: Library, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < count; from += 16) {
    const numbers = Array.from({ length: Math.min(16, count - from) }, (_, index) => from + index);
    await Promise.all(
      numbers.map(async (number) => {
        const temp_key = await library.uploaded(`# Report ${number}\n\n${prose(number, 60)}`);
        const document_metadata = { name: `report-${number}.md` };
        ids.push(await library.confirm({ temp_key, reading: 'off', document_metadata }));
      }),
    );
  }
  return ids;
}

/** What reading costs other requests. */
const beside = (
  service: RunningService,
  library: Library,
  { rounds, perRound, ids }: { rounds: number; perRound: number; ids: string[] },
): Promise<void> => {
  let begun = 0;
  return measureBeside({
    url: service.url,
    pid: service.child.pid,
    what: 'the reading of documents',
    niceness: READER_NICENESS,
    rounds,
    async prepare(round) {
      begun = performance.now();
      await library.switchOn(ids.slice(round * perRound, (round + 1) * perRound));
    },
    async work() {
      await eventually(
        'the documents to be read',
        async () => {
          await Bun.sleep(500);
          return !(await library.isReading());
        },
        ENDS_WITHIN_MS,
      );
      return `${whole(perRound / ((performance.now() - begun) / 1000))} a second`;
    },
  });
};

/** Resident memory of the service and its readers, at quarters of many documents. */
async function memory(service: RunningService, library: Library, ids: string[]): Promise<void> {
  const quarter = Math.floor(ids.length / 4);
  const rows: string[][] = [];
  for (let from = 0; from + quarter <= ids.length && quarter > 0; from += quarter) {
    const some = ids.slice(from, from + quarter);
    await library.switchOn(some);
    let reader = 0;
    await eventually(
      'the documents to be read',
      async () => {
        await Bun.sleep(300);
        for (const pid of readersOf(service.child.pid)) reader = Math.max(reader, memoryMiB(pid).now);
        return (await library.pending(some)) === 0;
      },
      ENDS_WITHIN_MS,
    );
    rows.push([whole(from + quarter), whole(memoryMiB(service.child.pid).now), whole(reader)]);
  }
  printTable('Resident memory, MiB', ['documents read', 'service', 'its reader, at most'], rows);
}

const readersOf = (pid: number): number[] =>
  Bun.spawnSync(['pgrep', '-P', String(pid), '-f', 'content/reader.ts'])
    .stdout.toString()
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);

/** A book and a spreadsheet of a million cells, each in a reader of its own. */
async function largest(): Promise<void> {
  const files: [name: string, make: () => Uint8Array<ArrayBuffer>][] = [
    ['872-pages.pdf', () => pages(872)],
    ['10000-pages.pdf', () => pages(10_000)],
    [
      'million-cells.xlsx',
      () =>
        xlsx({
          Cells: Array.from({ length: 50_000 }, (_, row) =>
            Array.from({ length: 20 }, (_cell, column) => (column === 0 ? `Part ${row}` : row * column)),
          ),
        }),
    ],
  ];
  const rows: string[][] = [];
  for (const [name, make] of files) {
    const bytes = make();
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(bytes) });
    const reader = createReader({ environment: { PATH: process.env['PATH'] } });
    const begun = performance.now();
    let peak = 0;
    const watch = setInterval(() => {
      const pid = reader.pid();
      if (pid !== undefined) peak = Math.max(peak, memoryMiB(pid).peak);
    }, 100);
    const request = { name, contentType: '', language: null, bytesMax: 1_000_000_000 };
    const found = await reader
      .read({ ...request, source: { url: server.url.href } }, async (outcome) => {
        if (!('reading' in outcome)) return JSON.stringify(outcome);
        for await (const _ of outcome.chunks);
        return `${outcome.reading.state}: ${whole(outcome.reading.characters)} characters, ${whole(outcome.reading.passages)} passages`;
      })
      .catch((error) => String(error));
    clearInterval(watch);
    rows.push([
      name,
      whole(bytes.length / 1024),
      found,
      ((performance.now() - begun) / 1000).toFixed(1),
      whole(peak),
    ]);
    reader.end();
    await server.stop(true);
  }
  printTable(
    'The largest files (ceilings: 120 s, 1,024 MiB)',
    ['file', 'KiB', 'outcome', 'seconds', 'peak MiB'],
    rows,
  );
}

/** From the confirm of a PDF of 20 pages until its text is ready, and until a question finds it. */
async function visible(library: Library, rounds: number): Promise<void> {
  const rows: string[][] = [];
  for (let round = 0; round < rounds; round++) {
    const mark = `zircon${round}x`;
    const temp_key = await library.uploaded(
      pdf(
        Array.from({ length: 20 }, (_, page) =>
          Array.from({ length: 40 }, (_line, line) => ({
            x: 50,
            y: 780 - 18 * line,
            text:
              page === 12 && line === 7 ? `The ${mark} is blue.` : prose(page * 40 + line, 1).slice(0, 80),
          })),
        ),
      ),
    );
    const begun = performance.now();
    const id = await library.confirm({ temp_key, document_metadata: { name: `book-${round}.pdf` } });
    await eventually(
      'the text',
      async () => (await library.ask<{ status: string }>('GET', `file/${id}/content`)).status === 'ready',
      ENDS_WITHIN_MS,
    );
    const ready = performance.now() - begun;
    await eventually(
      'the answer',
      async () => {
        const query = `Which colour has the ${mark}?`;
        const { passages } = await library.ask<{ passages: { document_id: string; page: number }[] }>(
          'POST',
          'retrieve',
          { query, limit: 5 },
        );
        return passages.some(({ document_id, page }) => document_id === id && page === 13);
      },
      ENDS_WITHIN_MS,
    );
    rows.push([
      String(round + 1),
      (ready / 1000).toFixed(2),
      ((performance.now() - begun) / 1000).toFixed(2),
    ]);
  }
  printTable(
    'A PDF of 20 pages, seconds from its confirm (target: 5)',
    ['round', 'ready', 'found, with its page'],
    rows,
  );
}
