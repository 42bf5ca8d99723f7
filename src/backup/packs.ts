// Packs: files that hold the bytes of many objects, one after the other, each with an index of what is where. A pack never
// changes once it has its index, so that copies of a backup can share packs by hard links. A pack without an index is the
// remains of a backup that was cut off.

import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../core/durable.ts';
import { newId } from '../core/ids.ts';
import { parseJson } from '../core/json.ts';
import { PACK_BYTES, PACK_OBJECTS, PART_BYTES } from './limits.ts';

/** An object in a pack; `type`: its content type. */
export type Entry = { key: string; offset: number; size: number; type: string; sha256: string };

/** `sha256`: of the index, which has those of the objects. */
export type Pack = { id: string; bytes: number; objects: number; sha256: string };

export type NewObject = {
  key: string;
  size: number;
  type: string;
  body: Uint8Array | AsyncIterable<Uint8Array>;
};

export const packPath = (folder: string, id: string): string => join(folder, `${id}.pack`);
const indexPath = (folder: string, id: string): string => join(folder, `${id}.index`);
const sha256Of = (data: string): string => new Bun.CryptoHasher('sha256').update(data).digest('hex');

/** The complete packs of the folder. What else a backup that was cut off has left is removed. */
export function listPacks(folder: string): string[] {
  const names = new Set(readdirSync(folder));
  const complete = [...names].filter((name) => name.endsWith('.index')).map((name) => name.slice(0, -6));
  const kept = new Set(complete.flatMap((id) => [`${id}.pack`, `${id}.index`]));
  for (const name of names) if (!kept.has(name)) rmSync(join(folder, name), { force: true });
  return complete.sort();
}

/** Reads the index of a pack. Throws a sentence if it is damaged, or if the pack has another size. */
export function readPack(folder: string, id: string): { pack: Pack; entries: Entry[] } {
  let text: string;
  let entries: Entry[];
  try {
    text = readFileSync(indexPath(folder, id), 'utf8');
    entries = text
      .split('\n')
      .slice(0, -1)
      .map((line) => parseJson(line) as Entry);
  } catch (cause) {
    throw new Error(`the index of the pack ${id} cannot be read`, { cause });
  }
  const last = entries.at(-1);
  const bytes = last === undefined ? 0 : last.offset + last.size;
  const found = statSync(packPath(folder, id), { throwIfNoEntry: false })?.size;
  if (found !== bytes)
    throw new Error(
      `the pack ${id} ${found === undefined ? 'is missing' : `has ${found} bytes instead of ${bytes}`}`,
    );
  return { pack: { id, bytes, objects: entries.length, sha256: sha256Of(text) }, entries };
}

/** The index goes first: a pack without one is not looked at. */
export function removePack(folder: string, id: string): void {
  rmSync(indexPath(folder, id), { force: true });
  rmSync(packPath(folder, id), { force: true });
}

/** The bytes of an object, in parts, each of which is valid until the next one is asked for. */
export async function* readEntry(pack: FileHandle, entry: Entry): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(PART_BYTES, entry.size));
  for (let read = 0; read < entry.size; ) {
    const length = Math.min(buffer.length, entry.size - read);
    const { bytesRead } = await pack.read(buffer, 0, length, entry.offset + read);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    read += bytesRead;
  }
}

/** Whether the object has the bytes that were written. */
export async function isIntact(pack: FileHandle, entry: Entry): Promise<boolean> {
  const hash = new Bun.CryptoHasher('sha256');
  for await (const part of readEntry(pack, entry)) hash.update(part);
  return hash.digest('hex') === entry.sha256;
}

/** Appends objects to new packs, one object at a time; `onComplete` is called with each pack when it is on the disk. */
export function createPackWriter(folder: string, onComplete: (pack: Pack, entries: Entry[]) => void) {
  let open: OpenPack | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const append = async (object: NewObject): Promise<void> => {
    open ??= await openPack(folder);
    await open.append(object);
    if (open.bytes() >= PACK_BYTES || open.entries.length >= PACK_OBJECTS) await complete();
  };
  const complete = async (): Promise<void> => {
    if (open === undefined) return;
    const { id, entries, bytes, close } = open;
    open = undefined;
    await close();
    if (entries.length === 0) return rmSync(`${packPath(folder, id)}.new`);
    await rename(`${packPath(folder, id)}.new`, packPath(folder, id));
    const index = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    replaceFile(indexPath(folder, id), index);
    onComplete({ id, bytes: bytes(), objects: entries.length, sha256: sha256Of(index) }, entries);
  };
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  return {
    /** Resolves when the object has been handed to the disk. Where it rejects, the pack is as before. */
    add: (object: NewObject) => inTurn(() => append(object)),
    /** Completes the last pack. */
    finish: () => inTurn(complete),
    /** Gives up the pack that is not complete. */
    abandon: () => inTurn(async () => void (await open?.close())),
  };
}

type OpenPack = Awaited<ReturnType<typeof openPack>>;

async function openPack(folder: string) {
  const id = newId();
  const file = await open(`${packPath(folder, id)}.new`, 'wx', 0o600);
  const entries: Entry[] = [];
  const output = createOutput(file);
  return {
    id,
    entries,
    bytes: output.position,
    async append({ key, size, type, body }: NewObject): Promise<void> {
      const offset = output.position();
      const hash = new Bun.CryptoHasher('sha256');
      try {
        for await (const part of body instanceof Uint8Array ? [body] : body) {
          hash.update(part);
          await output.write(part);
        }
        const written = output.position() - offset;
        if (written !== size) throw new Error(`${written} of ${size} bytes came`);
      } catch (error) {
        output.back(offset);
        throw error;
      }
      entries.push({ key, offset, size, type, sha256: hash.digest('hex') });
    },
    async close(): Promise<void> {
      try {
        await output.flush();
        await file.truncate(output.position());
        await file.sync();
      } finally {
        await file.close();
      }
    },
  };
}

/** Small parts are collected, because a call of the disk costs as much as copying many of them. */
function createOutput(file: FileHandle) {
  const buffer = Buffer.allocUnsafe(4 * PART_BYTES);
  let flushed = 0;
  let waiting = 0;
  const writeAt = async (data: Uint8Array): Promise<void> => {
    for (let offset = 0; offset < data.length; ) {
      const { bytesWritten } = await file.write(data, offset, data.length - offset, flushed);
      offset += bytesWritten;
      flushed += bytesWritten;
    }
  };
  const flush = async (): Promise<void> => {
    const length = waiting;
    waiting = 0;
    await writeAt(buffer.subarray(0, length));
  };
  return {
    position: () => flushed + waiting,
    flush,
    async write(data: Uint8Array): Promise<void> {
      if (waiting + data.length > buffer.length) await flush();
      if (data.length > buffer.length) return await writeAt(data);
      buffer.set(data, waiting);
      waiting += data.length;
    },
    /** Back to an earlier position; what stands behind it is written over. */
    back(position: number): void {
      waiting = Math.max(0, position - flushed);
      flushed = Math.min(flushed, position);
    },
  };
}
