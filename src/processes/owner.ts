// The messages between one of several processes and their owner.

/** Set to `1` in the environment of one of several processes. */
export const ONE_OF_SEVERAL = 'ATRIUM_PROCESS_OF_SEVERAL';

/** The settings in force of the owner, without secrets, in the environment of its processes: theirs have other addresses. */
export const SETTINGS_OF_OWNER = 'ATRIUM_SETTINGS_OF_OWNER';

/** `alive` comes every second; `prepared` when all that is left is to listen; `ready` when it does. */
export type ToOwner = 'alive' | 'prepared' | 'ready' | { failed: string };
/** It may listen now. */
export type ToProcess = 'listen';

export type Owner = {
  /** Resolves when the port is this process's to listen on. */
  mayListen(): Promise<void>;
  ready(): void;
  /** Reports why it ends. */
  failed(sentence: string): Promise<void>;
};

export const ALIVE_INTERVAL_MS = 1000;

/** Begins to give signs of life. */
export function linkToOwner(): Owner {
  const { promise: allowed, resolve } = Promise.withResolvers<void>();
  const tell = (message: ToOwner): Promise<void> =>
    new Promise((done) => {
      if (process.connected !== true) return done();
      process.send?.(message, undefined, undefined, () => done());
    });
  process.on('message', (message: ToProcess) => {
    if (message === 'listen') resolve();
  });
  void tell('alive');
  setInterval(() => void tell('alive'), ALIVE_INTERVAL_MS);
  return {
    async mayListen() {
      void tell('prepared');
      await allowed;
    },
    ready: () => void tell('ready'),
    failed: (failed) => tell({ failed }),
  };
}
