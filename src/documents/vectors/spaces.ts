// The vectors in the memory of this process. A space is the vectors of a workspace by one model: it is loaded when a search needs it,
// follows the changes of its workspace, and is evicted, least recently used first, when others need the room.

import { join } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import { createThread } from '../../core/thread.ts';
import { within } from '../../core/wait.ts';
import type { VectorEngine } from './engine.ts';
import * as limits from './limits.ts';
import type { Answering, createLoading } from './loading.ts';
import { rowBytes } from './memory.ts';
import type { SpaceSize, VectorCalls } from './thread.ts';

/** Compiled from assembly/ by the start and test commands. */
const KERNEL = join(import.meta.dir, '../../../build/vectors.wasm');

type Space = SpaceSize & {
  /** Everything up to this change of the workspace is in memory; 0: nothing is. */
  sequence: number;
  usedAtMs: number;
  noRoomUntilMs: number;
  updating: Promise<void> | undefined;
};

/** The vectors of a workspace do not fit into the memory, or would need the room of others in use. */
export class NoRoom extends Error {
  constructor(workspace: string) {
    super(`the vectors of the workspace ${workspace} have no room: VECTORS_MEMORY_BYTES_MAX`);
    this.name = 'NoRoom';
  }
}

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
      log.error({ job: 'documents.vectors', reason }, 'the thread has ended; its vectors are loaded again');
      for (const space of spaces.values()) clear(space);
    },
  });

  const ask = <Name extends keyof VectorCalls>(call: Name, ...input: Parameters<VectorCalls[Name]>) =>
    thread.ask(call, ...input, limits.THREAD_ANSWER_MS_MAX);

  function use(name: string): Space {
    const space = spaces.get(name) ?? {
      sequence: 0,
      bytes: 0,
      vectors: 0,
      usedAtMs: 0,
      noRoomUntilMs: Number.NEGATIVE_INFINITY,
      updating: undefined,
    };
    spaces.delete(name);
    spaces.set(name, space);
    space.usedAtMs = performance.now();
    return space;
  }

  const clear = (space: Space): void => void Object.assign(space, { sequence: 0, bytes: 0, vectors: 0 });

  async function evict(name: string, space: Space): Promise<void> {
    const held = space.bytes > 0;
    clear(space);
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
    const span = (from: number) => ({ workspaceId, modelId, from, to });
    try {
      if (forgottenTo > space.sequence) await evict(name, space);
      const from = space.sequence;
      const vectors = await loading.count(span(from));
      await makeRoom(space, vectors * rowBytes(dimensions), workspaceId);
      const apply = async (change: Promise<SpaceSize>) => Object.assign(space, await change);
      if (from === 0) await apply(ask('create', { space: name, dimensions, vectors }));
      else await apply(ask('reserve', { space: name, vectors }));
      if (from > 0)
        for await (const documents of loading.outdated(span(from)))
          await apply(ask('remove', { space: name, documents }));
      for await (const rows of loading.rows(span(from))) await apply(ask('add', { space: name, rows }));
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
    restart: (): void => thread.replace(),
    end: (): void => thread.end(),
    metrics: () => {
      const now = performance.now();
      const all = [...spaces.values()];
      return {
        loaded: all.filter(({ sequence }) => sequence > 0).length,
        withoutRoom: all.filter(({ noRoomUntilMs }) => noRoomUntilMs > now).length,
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
        vectors: all.reduce((sum, { vectors }) => sum + vectors, 0),
      };
    },
  };
}

const nameOf = ({ workspaceId, modelId }: Pick<Answering, 'workspaceId' | 'modelId'>): string =>
  `${workspaceId} ${modelId}`;
