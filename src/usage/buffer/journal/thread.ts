// The journal's thread: an fsync holds up the appends that come after it, and nothing else of the service.

declare const self: Worker;

import { JournalFull, openJournalFile } from './journal-file.ts';
import type { Answer, Opened, Question, ThreadSettings } from './messages.ts';

/** The interval of checking for appends of other processes. */
const POLL_MS = 100;

type Append = Extract<Question, { kind: 'append' }>;
type Read = Extract<Question, { kind: 'read' }>;

const answer = (message: Answer | Opened): void => self.postMessage(message);
const refuse = (ids: number[], error: unknown): void =>
  answer({
    ids,
    ok: false,
    full: error instanceof JournalFull,
    reason: error instanceof Error ? error.message : String(error),
  });

function serve({ directory, bytesMax }: ThreadSettings): void {
  const file = openJournalFile(directory, bytesMax);
  let appends: Append[] = [];
  let reader: (Read & { until: number }) | undefined;
  let poll: ReturnType<typeof setTimeout> | undefined;

  /** Everything that has arrived shares one transaction, and one fsync. */
  const flush = (): void => {
    const group = appends;
    appends = [];
    const ids = group.map(({ id }) => id);
    try {
      file.append(group.map(({ pack }) => pack));
      answer({ ids, ok: true });
    } catch (error) {
      refuse(ids, error);
    }
    read();
  };
  const read = (): void => {
    clearTimeout(poll);
    if (reader === undefined) return;
    const { id, after, bytesMax: bytes, packsMax, until } = reader;
    try {
      const value = file.read(after, { bytesMax: bytes, packsMax });
      if (value.length === 0 && performance.now() < until) {
        poll = setTimeout(read, POLL_MS);
        return;
      }
      answer({ ids: [id], ok: true, value });
    } catch (error) {
      refuse([id], error);
    }
    reader = undefined;
  };
  const take = (question: Question): void => {
    if (question.kind === 'append') {
      if (appends.push(question) === 1) setImmediate(flush);
    } else if (question.kind === 'read') {
      reader = { ...question, until: performance.now() + question.waitMs };
      read();
    } else answer({ ids: [question.id], ok: true, ...answerTo(question) });
  };
  const answerTo = (question: Exclude<Question, Append | Read>) => {
    if (question.kind === 'metrics') return { value: file.metrics() };
    if (question.kind === 'remove') file.remove(question.seqs);
    else {
      if (appends.length > 0) flush();
      file.close();
    }
    return {};
  };
  self.onmessage = ({ data }: MessageEvent<Question>) => {
    try {
      take(data);
    } catch (error) {
      refuse([data.id], error);
    }
  };
  answer({ opened: file.id });
}

self.onmessage = ({ data }: MessageEvent<ThreadSettings>) => {
  try {
    serve(data);
  } catch (error) {
    answer({ failed: error instanceof Error ? error.message : String(error) });
  }
};
