// What was said before a question: read from the database once, and remembered by the process that goes on with it.

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

type Entry = Window & { version: number; said: readonly Said[]; bytes: number };

export function createMemory(store: Pick<TurnStore, 'history'>, bytesMax = MEMORY_BYTES_MAX): Memory {
  /** By the answer that a branch ends with; in the order of last use. */
  const entries = new Map<number, Entry>();
  let bytes = 0;

  const forget = (answerId: number): void => {
    bytes -= entries.get(answerId)?.bytes ?? 0;
    entries.delete(answerId);
  };
  return {
    async before({ parentId, historyVersion }, window) {
      if (parentId === null || window.messagesMax === 0) return [];
      const entry = entries.get(parentId);
      if (entry === undefined) return store.history(parentId, window);
      // The branch goes on from the next answer, mostly.
      forget(parentId);
      const { version, messagesMax, bytesMax: entryBytesMax } = entry;
      const fits =
        version === historyVersion && messagesMax === window.messagesMax && entryBytesMax === window.bytesMax;
      return fits ? entry.said : store.history(parentId, window);
    },

    remember({ answerId, message, historyVersion }, { window, earlier, answer }) {
      const said = within(window, [
        ...earlier,
        { role: 'user', message },
        ...(answer === '' ? [] : [{ role: 'assistant', message: answer } as const]),
      ]);
      if (said.length === 0) return;
      const size = said.reduce(
        (sum, each) => sum + each.message.length * 2 + MESSAGE_OVERHEAD_BYTES,
        ENTRY_OVERHEAD_BYTES,
      );
      forget(answerId);
      entries.set(answerId, { ...window, version: historyVersion, said, bytes: size });
      bytes += size;
      for (const oldest of entries.keys()) {
        if (bytes <= bytesMax) break;
        forget(oldest);
      }
    },

    forget,
  };
}

/** The last of the messages that fit. */
function within({ messagesMax, bytesMax }: Window, messages: readonly Said[]): readonly Said[] {
  let first = messages.length;
  let bytes = 0;
  while (first > 0 && messages.length - first < messagesMax) {
    bytes += Buffer.byteLength(messages[first - 1]?.message ?? '');
    if (bytes > bytesMax) break;
    first -= 1;
  }
  return messages.slice(first);
}
