// The messages between one of several processes and their owner.

import { ANSWER_WITHIN_MS, type Part, type Siblings, type Topic } from '../core/siblings.ts';

/** Set to `1` in the environment of one of several processes. */
export const ONE_OF_SEVERAL = 'ATRIUM_PROCESS_OF_SEVERAL';

/** The settings in force of the owner, without secrets, in the environment of its processes: theirs have other addresses. */
export const SETTINGS_OF_OWNER = 'ATRIUM_SETTINGS_OF_OWNER';

/** `alive` comes every second; `prepared` when all that is left is to listen; `ready` when it does. */
export type ToOwner =
  | 'alive'
  | 'prepared'
  | 'ready'
  | { failed: string }
  /** A question to all processes; its answers come as `gathered`. */
  | { ask: number; topic: Topic }
  | { answered: number; answer: unknown };
/** `listen`: it may listen now. */
export type ToProcess = 'listen' | { asked: number; topic: Topic } | { gathered: number; parts: Part[] };

export type Owner = ReturnType<typeof linkToOwner>;

export const ALIVE_INTERVAL_MS = 1000;
/** Beyond the time that the processes have for their answers. */
const OWNER_GRACE_MS = 500;

/** Begins to give signs of life. */
export function linkToOwner() {
  const { promise: allowed, resolve } = Promise.withResolvers<void>();
  const tell = (message: ToOwner): Promise<void> =>
    new Promise((done) => {
      if (process.connected !== true) return done();
      process.send?.(message, undefined, undefined, () => done());
    });
  const answers = new Map<Topic, () => unknown>();
  const gathering = new Map<number, (parts: Part[]) => void>();
  let questions = 0;
  const answer = async (asked: number, topic: Topic): Promise<void> =>
    tell({ answered: asked, answer: await answers.get(topic)?.() });
  process.on('message', (message: ToProcess) => {
    if (message === 'listen') resolve();
    else if ('asked' in message) void answer(message.asked, message.topic);
    else gathering.get(message.gathered)?.(message.parts);
  });
  void tell('alive');
  setInterval(() => void tell('alive'), ALIVE_INTERVAL_MS);
  const siblings: Siblings = {
    gather(topic) {
      const ask = ++questions;
      const { promise: gathered, resolve: end, reject } = Promise.withResolvers<Part[]>();
      gathering.set(ask, end);
      const late = (): void => reject(new Error('The owner of the processes does not answer'));
      const timer = setTimeout(late, ANSWER_WITHIN_MS + OWNER_GRACE_MS);
      void tell({ ask, topic });
      return gathered.finally(() => {
        clearTimeout(timer);
        gathering.delete(ask);
      });
    },
    onAsked: (topic, read) => void answers.set(topic, read),
  };
  return {
    /** Resolves when the port is this process's to listen on. */
    async mayListen(): Promise<void> {
      void tell('prepared');
      await allowed;
    },
    ready: (): void => void tell('ready'),
    /** Reports why it ends. */
    failed: (failed: string): Promise<void> => tell({ failed }),
    siblings,
  };
}
