// The messages between the service and a reader, its process for reading files. The service sends requests, one at a time.

import type { PassageWords } from '../retrieval/word-store.ts';
import type { Passage } from './passages.ts';

/** A file at a URL, which the service fetches, or a text that a person has given. */
export type ReadRequest = {
  source: { url: string } | GivenSource;
  name: string;
  contentType: string;
  /** The text's language as a person has given it. */
  language: string | null;
  bytesMax: number;
};

export type GivenSource = { text: string; format: TextFormat };

export type ReaderCeilings = Record<'memoryBytesMax' | 'workedMsMax' | 'elapsedMsMax', number>;

export type ToReader =
  /** A part of the file that is to be read next; the first one replaces what was sent before. */
  | { part: Uint8Array; isFirst: boolean }
  /** Without a given text it is the file that was sent. */
  | {
      read: Pick<ReadRequest, 'name' | 'contentType' | 'language'>;
      given?: GivenSource;
      ceilings: ReaderCeilings;
    }
  | 'next';

/** The result of a reading. `reason` is set where only a part of the text is kept. Lengths are in characters. */
export type Reading = {
  state: 'ready' | 'empty';
  reason: string | null;
  language: string | null;
  pages: number | null;
  characters: number;
  passages: number;
  /** Bytes that the reader holds. */
  memory: number;
};

/** A part of the text that was read; parts come in order. */
export type Chunk =
  | { kind: 'text'; format: TextFormat; part: number; text: string }
  /** `words` are those of each passage and of the headings above it. */
  | { kind: 'passages'; from: number; passages: Passage[]; words: PassageWords[] };

export type TextFormat = 'text' | 'markdown';

export type FromReader =
  /** Sent once, at the start. */
  | { confinement: Confinement }
  /** The part of the file has come. */
  | { taken: true }
  | { reading: Reading }
  /** The file has no text that can be read. */
  | { unreadable: { state: 'unsupported' | 'failed'; reason: string } }
  /** Undefined after the last one. */
  | { chunk: Chunk | undefined };

/** What the platform lets a reader be without. */
export type Confinement = {
  /** It has no network. */
  offline: boolean;
  /** It has the rights of the user `nobody` instead of those of the service. */
  nobody: boolean;
};

/** The last argument of a reader that was started without network. */
export const OFFLINE = 'offline';

/** What a reader's watchdog writes to standard output before it ends its process. */
export const LAST_WORDS = {
  memory: 'the file needs too much memory to be read',
  time: 'the file takes too long to be read',
} as const;

export type WatchdogSettings = ReaderCeilings & { parent: number };
