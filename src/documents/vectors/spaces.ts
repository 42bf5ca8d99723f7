// Which vectors are in memory, and that they are current. They are loaded when a search needs them, follow the numbers of
// changes of their workspace, and leave, least recently used first, where others need their room.

import type { Logger } from '../../core/logger.ts';
import { KEPT_MS_MIN, LOADED_AT_ONCE, NO_ROOM_MS } from './limits.ts';
import type { Answering, Complete, Loading } from './loading.ts';
import { MEMORY_FULL, placeBytes } from './memory.ts';
import type { Scanner } from './scanner.ts';

type Space = {
  readonly name: string;
  /** Everything up to this change is in memory. */
  sequence: number;
  bytes: number;
  usedAtMs: number;
  noRoomUntilMs: number;
  updating: Promise<void> | undefined;
  /** How often the threads have lost it. */
  losses: number;
};

/** Thrown where the vectors of a workspace do not fit into the memory, or would take the room of others in use. */
export class NoRoom extends Error {
  constructor(workspace: string) {
    super(`the vectors of the workspace ${workspace} have no room: VECTORS_MEMORY_BYTES_MAX`);
    this.name = 'NoRoom';
  }
}

export type Spaces = ReturnType<typeof createSpaces>;

export function createSpaces(deps: {
  loading: Loading;
  scanner: Pick<Scanner, 'add' | 'remove' | 'forget'>;
  bytesMax: number;
  log: Logger;
}) {
  const { loading, scanner, log } = deps;
  /** Least recently used first. */
  const spaces = new Map<string, Space>();

  function use(name: string): Space {
    const space = spaces.get(name) ?? createSpace(name);
    spaces.delete(name);
    spaces.set(name, space);
    space.usedAtMs = performance.now();
    return space;
  }

  async function forget(space: Space): Promise<void> {
    space.sequence = 0;
    space.bytes = 0;
    await scanner.forget(space.name);
  }

  /** Makes room for so many more bytes. Throws NoRoom. */
  async function reserve(space: Space, bytes: number, workspaceId: string): Promise<void> {
    const others = [...spaces.values()].filter((each) => each !== space && each.bytes > 0);
    let used = space.bytes + others.reduce((sum, each) => sum + each.bytes, 0);
    const before = performance.now() - KEPT_MS_MIN;
    for (const other of others) {
      if (used + bytes <= deps.bytesMax) break;
      if (other.usedAtMs > before || other.updating !== undefined) continue;
      used -= other.bytes;
      log.info({ space: other.name }, 'vectors leave the memory for others');
      await forget(other);
    }
    if (used + bytes > deps.bytesMax) throw noRoom(space, workspaceId);
    space.bytes += bytes;
  }

  async function update(
    space: Space,
    { workspaceId, modelId, dimensions, ...answering }: Answering,
  ): Promise<void> {
    const to = answering.lastSequence;
    const { losses } = space;
    try {
      // Everything is loaded anew also where the tombstones of documents purged since were deleted.
      if (space.sequence === 0 || answering.forgottenTo > space.sequence) await forget(space);
      const span = (from: number) => ({ workspaceId, modelId, from, to });
      const from = space.sequence;
      const count = await loading.count(span(from));
      await reserve(space, count * placeBytes(dimensions), workspaceId);
      let bytes = await scanner.add(space.name, dimensions, new Uint8Array(0));
      if (from > 0) {
        for await (const page of pagesFrom(from, (at) => loading.outdated(span(at))))
          bytes = await scanner.remove(
            space.name,
            page.map(({ id }) => id),
          );
      }
      for await (const page of pagesFrom(from, (at) => loading.complete(span(at)))) {
        for (const documents of groupsOf(page))
          for await (const rows of loading.rows(modelId, documents))
            bytes = await scanner.add(space.name, dimensions, rows);
      }
      // Where the threads have ended meanwhile, the new ones hold only what was loaded since.
      if (space.losses === losses) Object.assign(space, { sequence: to, bytes });
    } catch (error) {
      // They may be there in part.
      if (!(error instanceof NoRoom)) await forget(space).catch(() => undefined);
      // All have room for them, but one thread not for its share.
      throw isFull(error) ? noRoom(space, workspaceId) : error;
    }
  }

  return {
    /**
     * Resolves when the vectors are in memory as they are in the database at the change that `answering` states, or at a
     * later one. Rejects with NoRoom, and as the database and the threads do.
     */
    async current(answering: Answering): Promise<string> {
      const space = use(nameOf(answering));
      while (space.sequence < answering.lastSequence) {
        if (space.noRoomUntilMs > performance.now()) throw new NoRoom(answering.workspaceId);
        space.updating ??= update(space, answering).finally(() => {
          space.updating = undefined;
        });
        await space.updating;
      }
      return space.name;
    },
    /** Gives the memory back: another engine searches these vectors. */
    async release({ workspaceId, modelId }: Pick<Answering, 'workspaceId' | 'modelId'>): Promise<void> {
      const space = spaces.get(nameOf({ workspaceId, modelId }));
      if (space !== undefined && space.sequence > 0 && space.updating === undefined) await forget(space);
    },
    /** The threads have lost what they held of a space, or of all. */
    lost(name?: string): void {
      for (const space of spaces.values())
        if (name === undefined || space.name === name)
          Object.assign(space, { sequence: 0, bytes: 0, losses: space.losses + 1 });
    },
    metrics: () => {
      const now = performance.now();
      const all = [...spaces.values()];
      return {
        loaded: all.filter(({ sequence }) => sequence > 0).length,
        withoutRoom: all.filter(({ noRoomUntilMs }) => noRoomUntilMs > now).length,
      };
    },
  };
}

const nameOf = ({ workspaceId, modelId }: Pick<Answering, 'workspaceId' | 'modelId'>): string =>
  `${workspaceId} ${modelId}`;

function noRoom(space: Space, workspaceId: string): NoRoom {
  space.noRoomUntilMs = performance.now() + NO_ROOM_MS;
  return new NoRoom(workspaceId);
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === MEMORY_FULL;

const createSpace = (name: string): Space => ({
  name,
  sequence: 0,
  bytes: 0,
  usedAtMs: 0,
  noRoomUntilMs: Number.NEGATIVE_INFINITY,
  updating: undefined,
  losses: 0,
});

async function* pagesFrom<Row extends Complete>(
  from: number,
  read: (from: number) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let at = from; ; ) {
    const page = await read(at);
    if (page.length === 0) return;
    yield page;
    at = page.at(-1)?.sequence ?? at;
  }
}

/** Documents whose vectors are read together. */
function groupsOf(page: readonly (Complete & { passages: number })[]): string[][] {
  const groups: string[][] = [];
  let room = 0;
  for (const { id, passages } of page) {
    if (groups.length === 0 || room < passages) {
      groups.push([]);
      room = LOADED_AT_ONCE;
    }
    groups.at(-1)?.push(id);
    room -= passages;
  }
  return groups;
}
