// The process that reads files: whatever a file does to it, the service goes on. It has no credentials, the lowest priority but
// one, and, where the platform can do that, no network and the rights of nobody.

import { getPriority, setPriority } from 'node:os';
import { passageWordsOf } from '../retrieval/segmentation.ts';
import { dropRights } from './drop-rights.ts';
import {
  PASSAGES_A_STATEMENT,
  PASSAGES_MAX,
  READER_RETAINED_BYTES_MAX,
  READING_MS_ENOUGH,
  TEXT_PART_LENGTH,
} from './limits.ts';
import { createOutline, TextFull, toLine } from './outline.ts';
import { countCharacters, type Passage, splitPassages } from './passages.ts';
import {
  type Chunk,
  type FromReader,
  OFFLINE,
  type Reading,
  type TextFormat,
  type ToReader,
  type WatchdogSettings,
} from './protocol.ts';
import { Unreadable } from './unreadable.ts';

/** As the threads for long computations have it. */
const NICENESS = 15;

setPriority(0, Math.max(getPriority(), NICENESS));
const nobody = dropRights();

const watchdog = new Worker(new URL('./watchdog.ts', import.meta.url).href);
const parent = process.ppid;

type Order = Extract<ToReader, { read: unknown }>;

/** What has come of the file that is to be read next. */
let parts: Uint8Array[] = [];
let chunks: Iterator<Chunk> = [][Symbol.iterator]();

process.on('message', (message: ToReader) => void answer(message));
process.on('disconnect', () => process.exit(0));
say({ confinement: { offline: process.argv.includes(OFFLINE), nobody } });

function say(reply: FromReader): void {
  process.send?.(reply);
}

async function answer(message: ToReader): Promise<void> {
  if (message === 'next') {
    const { value, done } = chunks.next();
    say({ chunk: done === true ? undefined : value });
  } else if ('part' in message) {
    if (message.isFirst) parts = [];
    parts.push(message.part);
    say({ taken: true });
  } else await answerRead(message);
}

async function answerRead(order: Order): Promise<void> {
  watchdog.postMessage({ ...order.ceilings, parent } satisfies WatchdogSettings);
  try {
    say({ reading: await read(order) });
  } catch (error) {
    if (error instanceof Unreadable)
      say({ unreadable: { state: error.state, reason: toLine(error.message) } });
    else say({ unreadable: { state: 'failed', reason: `the file cannot be read: ${reasonOf(error)}` } });
  } finally {
    watchdog.postMessage('rest');
  }
}

async function read({ read: request, given }: Order): Promise<Reading> {
  // The parsers of the formats are loaded with the first file.
  const [{ readFile, readGiven }, { detectLanguage, toLanguage }] = await Promise.all([
    import('./read-file.ts'),
    import('./language.ts'),
  ]);
  const begun = process.cpuUsage();
  const outline = createOutline({
    takesLong() {
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1000 > READING_MS_ENOUGH;
    },
  });
  let named: string | undefined;
  let reason: string | null = null;
  try {
    if (given !== undefined) readGiven(given, outline);
    else named = await readFile({ ...request, bytes: takeFile() }, outline);
  } catch (error) {
    if (!(error instanceof TextFull)) throw error;
    reason = `${error.message}: the rest is not kept`;
  }
  // What the parser of a large file has left behind would add to what the passages take.
  if (process.memoryUsage.rss() > READER_RETAINED_BYTES_MAX) Bun.gc(true);
  const text = outline.text();
  const language = toLanguage(request.language) ?? toLanguage(named) ?? detectLanguage(text);
  const passages = [...splitPassages(text, outline.blocks(), language).take(PASSAGES_MAX + 1)];
  if (passages.length > PASSAGES_MAX) {
    passages.pop();
    reason ??= `the text has more than ${PASSAGES_MAX} passages: those beyond are not kept`;
  }
  const markdown = outline.markdown();
  chunks = chunksOf({ text, markdown, passages });
  return {
    state: passages.length === 0 ? 'empty' : 'ready',
    reason: passages.length === 0 ? (reason ?? 'the file has no text') : reason,
    language,
    pages: outline.pages(),
    characters: countCharacters(text),
    passages: passages.length,
    memory: process.memoryUsage.rss(),
  };
}

function takeFile(): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  parts = [];
  return bytes;
}

function* chunksOf(read: { text: string; markdown: string; passages: readonly Passage[] }): Generator<Chunk> {
  const { text, markdown, passages } = read;
  yield* partsOf('text', text);
  if (markdown !== text) yield* partsOf('markdown', markdown);
  for (let from = 0; from < passages.length; from += PASSAGES_A_STATEMENT) {
    const part = passages.slice(from, from + PASSAGES_A_STATEMENT);
    yield { kind: 'passages', from, passages: part, words: part.map(passageWordsOf) };
  }
}

function* partsOf(format: TextFormat, text: string): Generator<Chunk> {
  for (let from = 0, part = 0; from < text.length; part++) {
    const end = from + TEXT_PART_LENGTH;
    // A character is not divided.
    const to = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
    yield { kind: 'text', format, part, text: text.slice(from, to) };
    from = to;
  }
}

/** A message of a parser may quote the file. */
const reasonOf = (error: unknown): string =>
  toLine((error instanceof Error ? error.message : String(error)).slice(0, 200));
