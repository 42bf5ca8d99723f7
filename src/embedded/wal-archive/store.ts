// The bucket of the archive. Everything in it is compressed by zstd, with a checksum that is verified when it is read.

import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { createObjectStore, KEYS_PER_CALL_MAX, type ListedObject } from '../../infra/s3/client.ts';
import { createTransfer } from '../../infra/s3/transfer.ts';

type Bucket = Parameters<typeof createObjectStore>[0];

export type ArchiveStore = ReturnType<typeof openArchiveStore>;

const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Calls that fail because the store is away throw, after a few attempts. */
export function openArchiveStore(bucket: Bucket) {
  const objects = createObjectStore(bucket);
  const transfer = createTransfer(objects);
  const read = (key: string): Promise<Uint8Array | undefined> =>
    transfer.get(key, async ({ body }) => await new Response(body).bytes());
  const put = async (key: string, bytes: Uint8Array, type: string): Promise<boolean> => {
    const body = new Blob([bytes as Uint8Array<ArrayBuffer>]);
    return await transfer.putNew(key, { size: bytes.length, type, body });
  };

  return {
    bucket: bucket.bucket,
    ensureBucket: objects.ensureBucket,
    has: async (key: string): Promise<boolean> => (await objects.head(key)) !== undefined,

    /**
     * Compresses, and writes as soon as `turn` is fulfilled. Returns whether it wrote: where the key has an object, that stays.
     * `addOnce` compares.
     */
    async add(key: string, bytes: Uint8Array, turn?: Promise<unknown>): Promise<boolean> {
      const compressed = await compress(bytes, { params: PARAMS });
      await turn;
      return await put(key, compressed, 'application/zstd');
    },

    /** The object's content; undefined where there is no object. Throws for a damaged object. */
    async read(key: string): Promise<Uint8Array | undefined> {
      const compressed = await read(key);
      if (compressed === undefined) return undefined;
      return await decompress(compressed).catch((cause: unknown) => {
        throw new Error(`the object ${key} of the archive is damaged`, { cause });
      });
    },

    /** Of an object that exists the content stays. */
    addJson: (key: string, value: object): Promise<boolean> =>
      put(key, new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`), 'application/json'),

    async readText(key: string): Promise<string | undefined> {
      const bytes = await read(key);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    },

    async list(prefix: string): Promise<ListedObject[]> {
      const found: ListedObject[] = [];
      for await (const page of objects.list(prefix)) found.push(...page);
      return found;
    },

    async remove(keys: readonly string[]): Promise<void> {
      for (let from = 0; from < keys.length; from += KEYS_PER_CALL_MAX) {
        const page = keys.slice(from, from + KEYS_PER_CALL_MAX);
        const refused = await objects.remove(page.map((key) => ({ key })));
        const [first] = refused;
        if (first !== undefined) throw new Error(`the store does not delete ${first[0]} (${first[1]})`);
      }
    },

    /** The time by the store's clock. */
    now: objects.now,
    close: objects.close,
  };
}

/**
 * Writes what may be there already: after an answer that was lost, or a kill, it is written again. Returns whether the archive has
 * this content; another one stays as it is.
 */
export async function addOnce(
  store: Pick<ArchiveStore, 'add' | 'read'>,
  { key, bytes, turn }: { key: string; bytes: Uint8Array; turn?: Promise<unknown> },
): Promise<boolean> {
  if (await store.add(key, bytes, turn)) return true;
  const held = await store.read(key);
  if (held === undefined) throw new Error(`the archive has lost ${key}, which is written again`);
  return Buffer.compare(bytes, held) === 0;
}
