// Bytes of text in any encoding → text.

import { detect } from 'chardet';
import { Unreadable } from './unreadable.ts';

/** Bytes by which an encoding is guessed. */
const SAMPLE_BYTES = 65_536;

const BYTE_ORDER_MARKS: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/**
 * Decodes by the mark of byte order, else as UTF-8 where that is valid, else as what the file declares, else as what its
 * bytes look like. Throws Unreadable for bytes that are no text.
 */
export function decodeText(bytes: Uint8Array, declared?: string): string {
  const marked = BYTE_ORDER_MARKS.find(([mark]) => mark.every((byte, index) => bytes[index] === byte));
  if (marked !== undefined) return new TextDecoder(marked[1]).decode(bytes);
  const wide = wideEncodingOf(bytes);
  if (wide !== undefined) return new TextDecoder(wide).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const decoder = decoderOf(declared) ?? decoderOf(detect(bytes.subarray(0, SAMPLE_BYTES)) ?? undefined);
    return (decoder ?? new TextDecoder('windows-1252')).decode(bytes);
  }
}

/** UTF-16 without a mark has a NUL in every other byte, for most scripts. Throws where NULs stand anywhere else. */
function wideEncodingOf(bytes: Uint8Array): string | undefined {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const nuls = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) nuls[index % 2] = (nuls[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = nuls;
  if (even + odd === 0) return undefined;
  const most = sample.length * 0.2;
  if (odd > most && even < odd / 10) return 'utf-16le';
  if (even > most && odd < even / 10) return 'utf-16be';
  // Some programs pad text with a few.
  if (even + odd <= sample.length / 1000) return undefined;
  throw new Unreadable('unsupported', 'the file is not text');
}

function decoderOf(encoding: string | undefined): TextDecoder | undefined {
  if (encoding === undefined) return undefined;
  try {
    return new TextDecoder(encoding.trim() as Bun.Encoding);
  } catch {
    return undefined;
  }
}
