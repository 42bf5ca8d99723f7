// The messages before a question: read from the database once, and remembered by the process that continues the conversation.

import { LRUCache } from 'lru-cache';
import { BYTES_PER_TOKEN, MEMORY_BYTES_MAX, MEMORY_KEPT_MS, TOKENS_PER_MESSAGE } from './limits.ts';
import type { TurnStore } from './store/turns.ts';
import type { Said, Turn } from './turn.ts';

/** The end of a branch that a model receives: so many messages, so many tokens, about. */
export type Window = { messagesMax: number; tokensMax: number };

export type Memory = {
  before(turn: Turn, window: Window): Promise<readonly Said[]>;
  /** For the question that follows; what deletion has made untrue is not used any more. */
  remember(turn: Turn, said: { window: Window; earlier: readonly Said[]; answer: string }): void;
  /** The generated answer is not the stored one. */
  forget(answerId: number): void;
};

/** The overhead of a cached conversation beside its texts. */
const ENTRY_OVERHEAD_BYTES = 500;
const MESSAGE_OVERHEAD_BYTES = 100;
/** How often expired conversations are removed. */
const PURGE_EVERY_MS = 60_000;

type Entry = Window & { version: number; said: readonly Said[] };

export function createMemory(
  store: Pick<TurnStore, 'history'>,
  { bytesMax = MEMORY_BYTES_MAX, now = () => performance.now() } = {},
): Memory {
  /** By the answer that a branch ends with. */
  const entries = new LRUCache<number, Entry>({
    maxSize: bytesMax,
    ttl: MEMORY_KEPT_MS,
    ttlResolution: 0,
    perf: { now },
    sizeCalculation: ({ said }) =>
      said.reduce(
        (sum, { message }) => sum + message.length * 2 + MESSAGE_OVERHEAD_BYTES,
        ENTRY_OVERHEAD_BYTES,
      ),
  });
  let purgedAt = now();
  /** Conversations that ended, or were deleted, are not asked for again. */
  const purge = (): void => {
    if (now() - purgedAt < PURGE_EVERY_MS) return;
    purgedAt = now();
    entries.purgeStale();
  };
  return {
    async before({ parentId, historyVersion }, window) {
      if (parentId === null || window.messagesMax === 0) return [];
      const entry = entries.get(parentId);
      // The branch goes on from the next answer, mostly.
      entries.delete(parentId);
      const fits =
        entry?.version === historyVersion &&
        entry.messagesMax === window.messagesMax &&
        entry.tokensMax === window.tokensMax;
      if (fits) return entry.said;
      const bytesMax = window.tokensMax * BYTES_PER_TOKEN;
      return endOf(await store.history(parentId, { messagesMax: window.messagesMax, bytesMax }), window);
    },

    remember({ answerId, message, historyVersion }, { window, earlier, answer }) {
      purge();
      const all: Said[] = [...earlier, { role: 'user', message }];
      if (answer !== '') all.push({ role: 'assistant', message: answer });
      const said = endOf(all, window);
      if (said.length > 0) entries.set(answerId, { ...window, version: historyVersion, said });
    },

    forget: (answerId) => void entries.delete(answerId),
  };
}

const tokensOf = ({ message }: Said): number =>
  TOKENS_PER_MESSAGE + Math.ceil(Buffer.byteLength(message) / BYTES_PER_TOKEN);

/** The last messages that are within the window together. */
function endOf(messages: readonly Said[], { messagesMax, tokensMax }: Window): readonly Said[] {
  let tokens = 0;
  const beyond = messages.findLastIndex((each, index) => {
    tokens += tokensOf(each);
    return tokens > tokensMax || messages.length - index > messagesMax;
  });
  return messages.slice(beyond + 1);
}
