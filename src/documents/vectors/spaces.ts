// The vectors in the memory of this process. A space is the vectors of a workspace by one model: it is loaded when a search needs it,
// follows the changes of its workspace, and is evicted, least recently used first, when others need the room.

import { join } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import { createThread } from '../../core/thread.ts';
import { within } from '../../core/wait.ts';
import { NoRoom, type VectorEngine } from './engine.ts';
import * as limits from './limits.ts';
import type { Answering, createLoading } from './loading.ts';
import { rowBytes } from './memory.ts';
import type { VectorCalls } from './thread.ts';

/** Compiled from assembly/ by the start and test commands. */
const KERNEL = join(import.meta.dir, '../../../build/vectors.wasm');
const JOB = 'documents.vectors';

/** Everything up to the change `sequence` of the workspace is in memory; 0: nothing is. */
const EMPTY = { sequence: 0, bytes: 0, vectors: 0 };

type Space = typeof EMPTY & { usedAtMs: number; noRoomUntilMs: number; updating: Promise<void> | undefined };

export function createSpaces(deps: {
  loading: ReturnType<typeof createLoading>;
  bytesMax: number;
  log: Logger;
}) {
  const { loading, bytesMax, log } = deps;
  /** Least recently used first. */
  const spaces = new Map<string, Space>();
  const thread = createThread<VectorCalls>({
    entry: new URL('./thread.ts', import.meta.url),
    settings: { kernel: KERNEL },
    openMsMax: limits.THREAD_OPEN_MS_MAX,
    onEnd(reason) {
      log.error({ job: JOB, reason }, 'the thread has ended; its vectors are loaded again');
      for (const space of spaces.values()) Object.assign(space, EMPTY);
    },
  });
  const ask = <Name extends keyof VectorCalls>(call: Name, ...input: Parameters<VectorCalls[Name]>) =>
    thread.ask(call, ...input, limits.THREAD_ANSWER_MS_MAX);

  function use(name: string): Space {
    const unused: Space = { ...EMPTY, usedAtMs: 0, noRoomUntilMs: 0, updating: undefined };
    const space = spaces.get(name) ?? unused;
    spaces.delete(name);
    spaces.set(name, space);
    space.usedAtMs = performance.now();
    return space;
  }

  async function evict(name: string, space: Space): Promise<void> {
    const held = space.bytes > 0;
    Object.assign(space, EMPTY);
    if (held) await ask('forget', name);
  }

  /** Evicts spaces that were not used recently until so many more bytes fit. Throws NoRoom. */
  async function makeRoom(space: Space, bytes: number, workspaceId: string): Promise<void> {
    const heldBytes = (): number => spaces.values().reduce((sum, each) => sum + each.bytes, 0);
    const recently = performance.now() - limits.KEPT_MS_MIN;
    for (const [name, other] of spaces) {
      if (heldBytes() + bytes <= bytesMax) break;
      if (other === space || other.bytes === 0 || other.usedAtMs > recently || other.updating !== undefined)
        continue;
      log.info({ space: name }, 'vectors leave the memory for others');
      await evict(name, other);
    }
    if (heldBytes() + bytes <= bytesMax && space.bytes + bytes <= limits.SPACE_BYTES_MAX) return;
    space.noRoomUntilMs = performance.now() + limits.NO_ROOM_MS;
    throw new NoRoom(workspaceId);
  }

  /** Loads what has changed, or everything if the tombstones of documents that were purged since have been deleted. */
  async function update(name: string, space: Space, answering: Answering): Promise<void> {
    const { workspaceId, modelId, dimensions, lastSequence: to, forgottenTo } = answering;
    try {
      if (forgottenTo > space.sequence) await evict(name, space);
      const from = space.sequence;
      const span = { workspaceId, modelId, from, to };
      const added = await loading.count(span);
      await makeRoom(space, added * rowBytes(dimensions), workspaceId);
      const change = async (changes: Omit<Parameters<VectorCalls['change']>[0], 'space'>) =>
        Object.assign(space, await ask('change', { space: name, ...changes }));
      if (from === 0) await ask('create', { space: name, dimensions });
      await change({ added });
      if (from > 0) for await (const removed of loading.outdated(span)) await change({ removed });
      for await (const rows of loading.rows(span)) await change({ rows });
      space.sequence = to;
    } catch (error) {
      // A part of the changes may be in memory.
      if (!(error instanceof NoRoom)) await evict(name, space).catch(() => undefined);
      throw error;
    }
  }

  /** Resolves when the space is as the database is at the change that `answering` states, or at a later one. */
  async function bringUpToDate(name: string, space: Space, answering: Answering): Promise<true> {
    while (space.sequence < answering.lastSequence) {
      if (space.noRoomUntilMs > performance.now()) throw new NoRoom(answering.workspaceId);
      space.updating ??= update(name, space, answering).finally(() => {
        space.updating = undefined;
      });
      await space.updating;
    }
    return true;
  }

  const engine: VectorEngine = {
    async open(answering) {
      const name = nameOf(answering);
      const space = use(name);
      const current = bringUpToDate(name, space, answering);
      current.catch((error: unknown) => {
        if (!(error instanceof NoRoom))
          log.warn({ workspace: answering.workspaceId, err: error }, 'vectors cannot be loaded');
      });
      if (!(await within(current, limits.LOAD_WAIT_MS, () => false))) return undefined;
      return async ({ components }, { limit, documents }) => {
        try {
          const nearest = await ask('nearest', { space: name, components, limit, documents });
          return { nearest, how: 'exact scan' };
        } catch (error) {
          space.sequence = 0;
          throw error;
        }
      };
    },
  };

  return {
    engine,
    /** Frees the memory of a workspace that another engine searches. */
    async release(answering: Pick<Answering, 'workspaceId' | 'modelId'>): Promise<void> {
      const name = nameOf(answering);
      const space = spaces.get(name);
      if (space !== undefined && space.updating === undefined) await evict(name, space);
    },
    /** Starts the thread again. Searches load what it had. */
    restart: thread.replace,
    end: thread.end,
    metrics() {
      const all = [...spaces.values()];
      return {
        loaded: all.filter(({ sequence }) => sequence > 0).length,
        withoutRoom: all.filter(({ noRoomUntilMs }) => noRoomUntilMs > performance.now()).length,
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
        vectors: all.reduce((sum, { vectors }) => sum + vectors, 0),
      };
    },
  };
}

const nameOf = ({ workspaceId, modelId }: Pick<Answering, 'workspaceId' | 'modelId'>): string =>
  `${workspaceId} ${modelId}`;
