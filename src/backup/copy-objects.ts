// Copies the objects of a move that the target's store lacks.

import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { newRandomId } from '../core/ids.ts';
import type { Progress } from '../core/progress.ts';
import type { Lease } from '../infra/postgres/exclusive.ts';
import type { ListedObject } from '../infra/s3/client.ts';
import { type ObjectReader, type ReadObject, type Transfer, wholeOf } from '../infra/s3/transfer.ts';
import { OBJECTS_AT_ONCE, SMALL_OBJECT_BYTES } from './limits.ts';
import { openWorkingSet, type WorkingSet } from './working-set.ts';

/** Undefined where the store stays the same. */
export type TargetObjects = { put: Transfer['put']; list(): AsyncIterable<ListedObject[]> } | undefined;

type Deps = {
  source: { objects: ObjectReader };
  target: { objects: TargetObjects };
  progress: Progress;
};

export type Copying = { lease: Lease; folder: string; copied: { count: number; missing: number } };

/** Copies the objects that the target lacks; returns how many documents need. */
export async function copyObjects(
  deps: Deps,
  { lease, folder, copied, keys }: Copying & { keys(): AsyncIterable<string> },
): Promise<number> {
  const set = openWorkingSet(join(folder, 'objects.sqlite'));
  try {
    await set.addNeeded(keys());
    const total = set.needed();
    const { objects } = deps.target;
    if (objects === undefined) return total;
    for await (const page of objects.list()) set.forget(page.map(({ key }) => key));
    const left = set.needed();
    let done = 0;
    const copyOne = async (key: string): Promise<void> => {
      lease.assert();
      const found = await deps.source.objects.get(key, async ({ body, ...about }) => {
        await using content = await readContent(folder, { ...about, body });
        await objects.put(key, { ...about, body: content.blob });
        return true;
      });
      if (found === undefined) copied.missing += 1;
      else copied.count += 1;
      done += 1;
      deps.progress.step(() => `objects: ${done} of ${left} copied, ${total} in all`);
    };
    await eachObject(set, copyOne);
    return total;
  } finally {
    set.close();
  }
}

/** In memory, or for a large one in a file, which is removed with it. */
async function readContent(
  folder: string,
  { size, body }: ReadObject,
): Promise<AsyncDisposable & { blob: Blob }> {
  if (size <= SMALL_OBJECT_BYTES)
    return { blob: new Blob([await wholeOf(body)]), [Symbol.asyncDispose]: async () => undefined };
  const path = join(folder, newRandomId());
  await pipeline(body, createWriteStream(path, { mode: 0o600 }));
  return { blob: Bun.file(path), [Symbol.asyncDispose]: () => rm(path) };
}

/** Several at a time. */
async function eachObject(set: WorkingSet, run: (key: string) => Promise<void>): Promise<void> {
  for (const page of set.missing()) {
    const rest = page.values();
    const work = async (): Promise<void> => {
      for (const key of rest) await run(key);
    };
    await Promise.all(Array.from({ length: OBJECTS_AT_ONCE }, work));
  }
}
