// The parts of a ZIP archive (APPNOTE 6.3.10), as office documents are: each is inflated when it is asked for, all of them
// together up to a ceiling, whatever sizes the archive claims.

import { inflateRawSync } from 'node:zlib';
import { ARCHIVE_ENTRIES_MAX, INFLATED_BYTES_MAX } from '../limits.ts';
import { isBroken, Unreadable } from '../unreadable.ts';

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
/** The end record with the longest comment. */
const END_BYTES_MAX = 65_557;
const STORED = 0;
const DEFLATED = 8;
const ENCRYPTED = 1;

type Entry = { flags: number; method: number; size: number; offset: number };

export type Archive = ReturnType<typeof openArchive>;

/** Throws Unreadable for bytes that are no archive, for encrypted parts, and beyond the ceilings. */
export function openArchive(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = readDirectory(bytes, view);
  let left = INFLATED_BYTES_MAX;
  return {
    names: [...entries.keys()],
    /** A part by its path; undefined where there is none. */
    read(name: string): Uint8Array | undefined {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      const content = inflate(bytes, view, entry, left);
      left -= content.length;
      return content;
    },
  };
}

function readDirectory(bytes: Uint8Array, view: DataView): Map<string, Entry> {
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  if (count > ARCHIVE_ENTRIES_MAX) throw isBroken(`the archive has more than ${ARCHIVE_ENTRIES_MAX} parts`);
  const entries = new Map<string, Entry>();
  const decoder = new TextDecoder();
  let at = view.getUint32(end + 16, true);
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== ENTRY) throw damaged();
    const nameLength = view.getUint16(at + 28, true);
    const name = decoder.decode(bytes.subarray(at + 46, at + 46 + nameLength)).replace(/^\/+/, '');
    entries.set(name, {
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      size: view.getUint32(at + 20, true),
      offset: view.getUint32(at + 42, true),
    });
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

function findEnd(view: DataView): number {
  const last = Math.max(0, view.byteLength - END_BYTES_MAX);
  for (let at = view.byteLength - 22; at >= last; at--) if (view.getUint32(at, true) === END) return at;
  throw damaged();
}

function inflate(
  bytes: Uint8Array,
  view: DataView,
  { flags, method, size, offset }: Entry,
  most: number,
): Uint8Array {
  if ((flags & ENCRYPTED) !== 0) throw new Unreadable('unsupported', 'the file is encrypted');
  if (offset + 30 > bytes.length || view.getUint32(offset, true) !== LOCAL) throw damaged();
  const from = offset + 30 + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true);
  const packed = bytes.subarray(from, from + size);
  if (packed.length !== size) throw damaged();
  if (method === STORED && size <= most) return packed;
  if (method !== STORED && method !== DEFLATED)
    throw isBroken('the archive is packed in a way that is not known');
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, most) });
  } catch (error) {
    const { code } = error as { code?: string };
    if (method === STORED || code === 'ERR_BUFFER_TOO_LARGE')
      throw isBroken(`the file inflates to more than ${INFLATED_BYTES_MAX} bytes`);
    throw damaged();
  }
}

const damaged = () => isBroken('the archive is damaged');
