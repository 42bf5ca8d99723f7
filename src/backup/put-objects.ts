// The objects of a restore: from the packs into the store.

import { type FileHandle, open } from 'node:fs/promises';
import type { Progress } from '../core/progress.ts';
import type { Transfer } from '../infra/s3/transfer.ts';
import { SMALL_OBJECT_BYTES, WRITES_AT_ONCE } from './limits.ts';
import { packsFolder } from './manifest.ts';
import { packPath, readEntry } from './packs.ts';
import type { HeldEntry, WorkingSet } from './working-set.ts';

type Deps = {
  transfer: Pick<Transfer, 'put'>;
  progress: Progress;
};

/** Disposed of, it ends with the objects that it has begun. */
export function startPuttingObjects(
  directory: string,
  deps: Deps,
  set: WorkingSet,
): AsyncDisposable & { done: Promise<void> } {
  let wanted = true;
  const done = putObjects(directory, { ...deps, isWanted: () => wanted }, set);
  done.catch(() => undefined);
  return {
    done,
    async [Symbol.asyncDispose]() {
      wanted = false;
      await done.catch(() => undefined);
    },
  };
}

async function putObjects(
  directory: string,
  { transfer, progress, isWanted }: Deps & { isWanted(): boolean },
  set: WorkingSet,
): Promise<void> {
  const total = set.needed();
  let done = 0;
  const note = (count: number): void => {
    done += count;
    progress.step(() => `objects: ${done} of ${total} written`);
  };
  for (const { id } of set.packs()) {
    const path = packPath(packsFolder(directory), id);
    await using pack = await open(path, 'r');
    const putOne = async (entry: HeldEntry): Promise<void> => {
      const { key, offset, size, type } = entry;
      // Of a small object the bytes are sent at once; a part of a file would be opened and read as a stream.
      const body = isSmall(entry)
        ? new Blob([await bytesOf(pack, entry)])
        : Bun.file(path).slice(offset, offset + size);
      await transfer.put(key, { size, type, body });
      note(1);
    };
    for (const page of set.entriesOf(id)) {
      await eachOf(page, putOne, { atOnce: WRITES_AT_ONCE, isWanted });
      if (!isWanted()) return;
    }
  }
}

const isSmall = ({ size }: HeldEntry): boolean => size <= SMALL_OBJECT_BYTES;

/** Begins no more once one has failed; throws its error when those that were begun have ended. */
async function eachOf<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<void>,
  { atOnce, isWanted }: { atOnce: number; isWanted(): boolean },
): Promise<void> {
  const rest = items.values();
  let failure: { error: unknown } | undefined;
  const work = async (): Promise<void> => {
    for (const item of rest) {
      if (!isWanted() || failure !== undefined) return;
      await run(item).catch((error: unknown) => {
        failure ??= { error };
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  if (failure !== undefined) throw failure.error;
}

/** Copies, because the parts that are read are valid for a moment alone. */
async function bytesOf(pack: FileHandle, entry: HeldEntry): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(entry.size);
  let read = 0;
  for await (const part of readEntry(pack, entry)) {
    bytes.set(part, read);
    read += part.length;
  }
  return bytes;
}
