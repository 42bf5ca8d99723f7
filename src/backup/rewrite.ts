import { open } from 'node:fs/promises';
import { PACK_BYTES, PACK_LIVE_SHARE_MIN, PACK_OBJECTS, SMALL_PACKS_MAX } from './limits.ts';
import { packsFolder } from './manifest.ts';
import { createPackWriter, packPath, readEntry } from './packs.ts';
import type { WorkingSet } from './working-set.ts';

/**
 * Rewrites packs most of whose objects are of purged documents, and small ones where there are many of them. Returns the packs
 * that are of no use then.
 */
export async function rewritePacks(directory: string, set: WorkingSet): Promise<string[]> {
  const folder = packsFolder(directory);
  const packs = set.packs();
  const small = packs.filter(({ bytes, objects }) => bytes < PACK_BYTES / 8 && objects < PACK_OBJECTS / 8);
  const isSparse = ({ bytes, liveBytes }: (typeof packs)[number]): boolean =>
    liveBytes < bytes * PACK_LIVE_SHARE_MIN;
  const merged = small.length > SMALL_PACKS_MAX ? small : [];
  const writer = createPackWriter(folder, set.addPack);
  for (const { id } of new Set([...packs.filter(isSparse), ...merged])) {
    const pack = await open(packPath(folder, id), 'r');
    try {
      for (const page of set.entriesOf(id)) {
        for (const entry of page) {
          const { key, size, type } = entry;
          await writer.add({ key, size, type, body: readEntry(pack, entry) });
        }
      }
    } finally {
      await pack.close();
    }
  }
  await writer.finish();
  const unused = set.packs().filter(({ live }) => live === 0);
  return unused.map(({ id }) => id);
}
