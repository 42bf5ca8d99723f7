// Sending documents to an index so that each either is there, or is known to be refused. Nothing is left in between:
// when this returns the server has done all of it, and when it throws all of it is to be sent again.

import { type Indexes, IndexingError } from '../../../infra/meilisearch/indexes.ts';
import { toMirrored } from './document.ts';
import type { Change } from './outbox.ts';

type Delivered = {
  refused: { id: string; reason: string }[];
  /** The last of the server's tasks. */
  task: number;
};

/** The server takes half a second for a task, however small: few and large ones keep up. */
const BYTES_PER_TASK = 20_000_000;
const DOCUMENTS_PER_TURN = 50;

/** What one task is made of: documents as lines of JSON, or ids to be deleted. */
type Part = { kind: 'replace' | 'remove'; ids: string[]; lines: string[] };

export function createDelivery(indexes: Indexes) {
  const enqueue = (indexUid: string, { kind, ids, lines }: Part, signal: AbortSignal): Promise<number> =>
    kind === 'remove'
      ? indexes.remove(indexUid, ids, signal)
      : indexes.replace(indexUid, lines.join('\n'), signal);

  /** A part that the server refuses is halved until the document that it takes offence at is alone. */
  const send = async (target: Target, part: Part, signal: AbortSignal): Promise<Delivered> => {
    try {
      const task = await enqueue(target.indexUid, part, signal);
      if (task <= target.task) throw new IndexingError('the search server has lost what it had');
      await indexes.done(task, signal);
      return { refused: [], task };
    } catch (error) {
      if (!(error instanceof IndexingError && error.refused)) throw error;
      const [id] = part.ids;
      if (part.ids.length === 1 && id !== undefined)
        return { refused: [{ id, reason: error.code }], task: -1 };
    }
    const middle = Math.ceil(part.ids.length / 2);
    return join([
      await send(target, slice(part, 0, middle), signal),
      await send(target, slice(part, middle), signal),
    ]);
  };

  return {
    /**
     * Brings the index to the state of these documents, of which no two are the same; `onFlight` is called before the
     * first of them may be on its way. Throws IndexingError when the server is away or ill; then nothing is on its way
     * any more that was not handed to the server.
     */
    async deliver(
      target: Target,
      documents: readonly Change[],
      signal: AbortSignal,
      onFlight: (documents: readonly Change[]) => void,
    ): Promise<Delivered> {
      const parts = await toParts(documents);
      onFlight(documents);
      const outcomes = await Promise.allSettled(parts.map((part) => send(target, part, signal)));
      const delivered = join(
        outcomes.map((outcome) => {
          if (outcome.status === 'rejected') throw outcome.reason;
          return outcome.value;
        }),
      );
      // A server that fails at everything fails by itself.
      const ill = delivered.refused.length > 1 && delivered.refused.length === documents.length;
      if (ill && delivered.refused.every(({ reason }) => reason === 'internal'))
        throw new IndexingError('the search server fails at every document');
      return delivered;
    },
  };
}

type Target = { indexUid: string /** A task that is older than whatever it makes now. */; task: number };

const join = (results: readonly Delivered[]): Delivered => ({
  refused: results.flatMap(({ refused }) => refused),
  task: Math.max(-1, ...results.map(({ task }) => task)),
});

const slice = ({ kind, ids, lines }: Part, from: number, to?: number): Part => ({
  kind,
  ids: ids.slice(from, to),
  lines: lines.slice(from, to),
});

/** Lets others have their turn now and then: a thousand documents take some tens of milliseconds. */
async function toParts(documents: readonly Change[]): Promise<Part[]> {
  const removed = documents.filter(({ document }) => document === undefined).map(({ id }) => id);
  const parts: Part[] = removed.length > 0 ? [{ kind: 'remove', ids: removed, lines: [] }] : [];
  let part: Part | undefined;
  let bytes = 0;
  for (const [index, { id, document }] of documents.entries()) {
    if (index % DOCUMENTS_PER_TURN === DOCUMENTS_PER_TURN - 1) await Bun.sleep(0);
    if (document === undefined) continue;
    const line = JSON.stringify(await toMirrored(document));
    bytes += line.length;
    if (part === undefined || bytes > BYTES_PER_TASK) {
      part = { kind: 'replace', ids: [], lines: [] };
      parts.push(part);
      bytes = line.length;
    }
    part.ids.push(id);
    part.lines.push(line);
  }
  return parts;
}
