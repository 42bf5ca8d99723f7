// What was said before a question: read from the database once, and remembered by the process that goes on with it.

import { LRUCache } from 'lru-cache';
import { MEMORY_BYTES_MAX } from './limits.ts';
import type { TurnStore } from './store/turns.ts';
import type { Turn } from './turn.ts';

export type Said = { role: 'user' | 'assistant' | 'agent'; message: string };
/** The end of a branch: so many messages, so many UTF-8 bytes of them. */
export type Window = { messagesMax: number; bytesMax: number };

export type Memory = {
  before(turn: Turn, window: Window): Promise<readonly Said[]>;
  /** For the question that follows; what deletion has made untrue is not used any more. */
  remember(turn: Turn, said: { window: Window; earlier: readonly Said[]; answer: string }): void;
  /** The answer that was made is not the one that is stored. */
  forget(answerId: number): void;
};

/** The overhead of a cached conversation beside its texts. */
const ENTRY_OVERHEAD_BYTES = 500;
const MESSAGE_OVERHEAD_BYTES = 100;

type Entry = Window & { version: number; said: readonly Said[] };

export function createMemory(store: Pick<TurnStore, 'history'>, bytesMax = MEMORY_BYTES_MAX): Memory {
  /** By the answer that a branch ends with. */
  const entries = new LRUCache<number, Entry>({
    maxSize: bytesMax,
    sizeCalculation: ({ said }) =>
      said.reduce(
        (sum, { message }) => sum + message.length * 2 + MESSAGE_OVERHEAD_BYTES,
        ENTRY_OVERHEAD_BYTES,
      ),
  });
  return {
    async before({ parentId, historyVersion }, window) {
      if (parentId === null || window.messagesMax === 0) return [];
      const entry = entries.get(parentId);
      // The branch goes on from the next answer, mostly.
      entries.delete(parentId);
      const fits =
        entry?.version === historyVersion &&
        entry.messagesMax === window.messagesMax &&
        entry.bytesMax === window.bytesMax;
      return fits ? entry.said : store.history(parentId, window);
    },

    remember({ answerId, message, historyVersion }, { window, earlier, answer }) {
      const all: Said[] = [...earlier, { role: 'user', message }];
      if (answer !== '') all.push({ role: 'assistant', message: answer });
      const last = all.slice(Math.max(0, all.length - window.messagesMax));
      const said = lastWithin(last, window.bytesMax, sizeOf);
      if (said.length > 0) entries.set(answerId, { ...window, version: historyVersion, said });
    },

    forget: (answerId) => void entries.delete(answerId),
  };
}

const sizeOf = ({ message }: Said): number => Buffer.byteLength(message);

/** The last of the messages whose sizes together are within the limit. */
export function lastWithin(
  messages: readonly Said[],
  sizeMax: number,
  size: (message: Said) => number,
): readonly Said[] {
  let sum = 0;
  const beyond = messages.findLastIndex((each) => {
    sum += size(each);
    return sum > sizeMax;
  });
  return messages.slice(beyond + 1);
}
