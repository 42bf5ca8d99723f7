// The threads of a pool: as many as are wanted, each replaced when it dies.

import type { Logger } from '../../core/logger.ts';
import type { Report } from './messages.ts';
import { openThread, type Thread } from './thread.ts';

const REOPEN_PAUSE_MS = 500;

export type CrewOptions = {
  /** For the log. */
  name: string;
  entry: URL;
  loadModule(): Promise<WebAssembly.Module>;
  threads: number;
  log: Logger;
};

/** A thread and the parts that it has. */
export type Member<Part> = { thread: Thread; parts: Map<number, Part>; long: number };

export type Crew<Part> = {
  readonly members: ReadonlySet<Member<Part>>;
  readonly replaced: number;
  /** Opens all threads; rejects when one does not open. */
  start(): Promise<void>;
  /** Ends one that does not obey; `onDeath` is called for it, too. */
  dismiss(member: Member<Part>): void;
  end(): void;
};

export function createCrew<Part>(
  { name, entry, loadModule, threads, log }: CrewOptions,
  events: {
    onReport(member: Member<Part>, report: Exclude<Report, { type: 'open' }>): void;
    onDeath(member: Member<Part>): void;
    onOpen(): void;
  },
): Crew<Part> {
  const members = new Set<Member<Part>>();
  let module: WebAssembly.Module | undefined;
  let replaced = 0;
  let ended = false;

  const open = async (): Promise<void> => {
    module ??= await loadModule();
    const parts = new Map<number, Part>();
    const thread = await openThread({
      entry,
      module,
      onReport: (report) => events.onReport(member, report),
      onDeath: () => lose(member),
    });
    const member: Member<Part> = { thread, parts, long: 0 };
    if (ended) return thread.end();
    members.add(member);
    events.onOpen();
  };
  const lose = (member: Member<Part>): void => {
    if (!members.delete(member)) return;
    log.error({ job: name }, 'a thread has ended by itself; it is replaced');
    replaced++;
    void reopen();
    events.onDeath(member);
  };
  const reopen = async (): Promise<void> => {
    while (!ended) {
      try {
        return await open();
      } catch (error) {
        log.error({ job: name, err: error }, 'a thread could not be replaced; it is tried again');
        await Bun.sleep(REOPEN_PAUSE_MS);
      }
    }
  };
  const end = (): void => {
    ended = true;
    for (const { thread } of members) thread.end();
    members.clear();
  };
  return {
    members,
    get replaced() {
      return replaced;
    },
    async start() {
      module = await loadModule();
      try {
        await Promise.all(Array.from({ length: threads }, open));
      } catch (error) {
        end();
        throw new Error('A thread for WASM kernels cannot be started', { cause: error });
      }
    },
    dismiss(member) {
      member.thread.end();
      lose(member);
    },
    end,
  };
}
