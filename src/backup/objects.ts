// The objects of a backup, a file each: the content, and a last line of JSON with the key, the size, the content type and a
// checksum. A file has its name only once it is complete and on the disk, and never changes: copies of a backup share it by hard links.

import { mkdirSync, readdirSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, syncFolder } from '../core/durable.ts';
import { parseJson } from '../core/json.ts';
import type { Progress } from '../core/progress.ts';
import type { Lease } from '../infra/postgres/exclusive.ts';
import type { StreamedObject, Transfer } from '../infra/s3/transfer.ts';
import { writeFlushed } from './files.ts';

const OBJECTS_AT_ONCE = 32;
/** More than a key and a content type can take in JSON. */
const LAST_LINE_BYTES_MAX = 16_384;
const NEWLINE = 10;

type LastLine = { key: string; size: number; type: string; sha256: string };

/** Keys may be longer than file names, and may differ in case alone. */
export function nameOf(key: string): string {
  const name = new Bun.CryptoHasher('sha256').update(key).digest('hex');
  return join(name.slice(0, 2), name);
}

/** Opens the folder, and makes it if it is absent. */
export function openObjectFolder(directory: string) {
  makeFolder(directory);
  const pathOf = (key: string): string => join(directory, nameOf(key));

  return {
    /** The names of all files. */
    names: (): Set<string> =>
      new Set(
        readdirSync(directory).flatMap((parent) =>
          readdirSync(join(directory, parent)).map((name) => join(parent, name)),
        ),
      ),
    /** Writes the object. It survives a loss of power after `sync`. */
    async save(key: string, object: StreamedObject): Promise<void> {
      const path = pathOf(key);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      await writeFlushed(`${path}.new`, withLastLine(key, object));
      await rename(`${path}.new`, path);
    },
    async sync(): Promise<void> {
      for (const parent of readdirSync(directory)) await syncFolder(join(directory, parent));
      await syncFolder(directory);
    },
    /** The size of an object. Throws a sentence if its file is missing or does not end as it was written. */
    size: async (key: string): Promise<number> => (await readLastLine(pathOf(key), key)).size,
    /** Reads the whole object, and returns its size. Throws a sentence if the file is missing or damaged. */
    async check(key: string): Promise<number> {
      const { sha256, ...about } = await readLastLine(pathOf(key), key);
      const hash = new Bun.CryptoHasher('sha256');
      for await (const part of Bun.file(pathOf(key)).slice(0, about.size).stream()) hash.update(part);
      if (hash.update(JSON.stringify(about)).digest('hex') === sha256) return about.size;
      throw new Error(`the object ${key} is damaged, in the file ${nameOf(key)}`);
    },
    /** Writes the object to a store. */
    async put(key: string, store: Transfer): Promise<void> {
      const { size, type } = await readLastLine(pathOf(key), key);
      await store.put(key, { size, type, body: Bun.file(pathOf(key)).slice(0, size) });
    },
    remove: (name: string): Promise<void> => rm(join(directory, name)),
  };
}

async function* withLastLine(key: string, { size, type, body }: StreamedObject): AsyncGenerator<Uint8Array> {
  const hash = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  for await (const part of body) {
    hash.update(part);
    bytes += part.length;
    yield part;
  }
  if (bytes !== size) throw new Error(`${bytes} of ${size} bytes came`);
  const about = { key, size, type };
  const sha256 = hash.update(JSON.stringify(about)).digest('hex');
  yield Buffer.from(`\n${JSON.stringify({ ...about, sha256 })}\n`);
}

async function readLastLine(path: string, key: string): Promise<LastLine> {
  const file = Bun.file(path);
  if (!(await file.exists()))
    throw new Error(`the object ${key} is missing: there is no file ${nameOf(key)}`);
  const end = Buffer.from(await file.slice(Math.max(0, file.size - LAST_LINE_BYTES_MAX)).arrayBuffer());
  const line = end.subarray(end.lastIndexOf(NEWLINE, -2) + 1);
  try {
    const found = parseJson(line.toString()) as LastLine;
    if (found.key === key && file.size === found.size + 1 + line.length) return found;
  } catch {
    // As below.
  }
  throw new Error(`the object ${key} is damaged: the file ${nameOf(key)} does not end as it was written`);
}

/** Copies the objects from a store. `missing`: the keys of those that the store does not have. */
export async function copyObjects(
  keys: readonly string[],
  {
    from,
    save,
    lease,
    progress,
  }: {
    from: Transfer;
    save(key: string, object: StreamedObject): Promise<void>;
    lease: Lease;
    progress: Progress;
  },
) {
  const copied = { count: 0, bytes: 0, missing: [] as string[] };
  await eachAtOnce(keys, async (key) => {
    lease.assert();
    const size = await from.get(key, async (object) => {
      await save(key, object);
      return object.size;
    });
    if (size === undefined) return void copied.missing.push(key);
    copied.count += 1;
    copied.bytes += size;
    progress.step(() => `objects: ${copied.count} copied`);
  });
  return copied;
}

/** Runs several at once; begins no more once one has failed, and throws its error when the others have ended. */
export async function eachAtOnce(
  keys: Iterable<string>,
  run: (key: string) => Promise<unknown>,
): Promise<void> {
  function* each() {
    yield* keys;
  }
  // A loop that fails ends the generator, and with it the other loops.
  const rest = each();
  const work = async (): Promise<void> => {
    for (const key of rest) await run(key);
  };
  const ended = await Promise.allSettled(Array.from({ length: OBJECTS_AT_ONCE }, work));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}
