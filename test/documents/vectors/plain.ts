// What the kernel does, in the plainest TypeScript.

import { byScore, type Place } from '../../../src/documents/vectors/place.ts';
import type { Scan } from '../../../src/documents/vectors/scratch.ts';

export type PlainRow = { document: string; id: bigint; stored: Buffer };

/** As a statement returns them. */
export const rowsOf = (rows: readonly PlainRow[]): Uint8Array =>
  Buffer.concat(
    rows.map(({ document, id, stored }) => {
      const idBytes = Buffer.alloc(8);
      idBytes.writeBigUInt64BE(id);
      return Buffer.concat([Buffer.from(document.replaceAll('-', ''), 'hex'), idBytes, stored]);
    }),
  );

const scoreOf = (components: Int16Array, stored: Buffer): number => {
  let sum = 0;
  for (const [index, component] of components.entries()) sum += component * stored.readInt8(4 + index);
  return Math.fround(Math.fround(sum) * stored.readFloatLE(0));
};

export function findPlainly(
  rows: readonly PlainRow[],
  { components, limit, behind, documents }: Scan,
): Place[] {
  return rows
    .filter(({ document }) => documents === undefined || documents.includes(document))
    .map(({ id, stored }) => ({ id, score: scoreOf(components, stored) }))
    .filter((each) => behind === undefined || byScore(behind, each) < 0)
    .filter((each) => behind === undefined || each.id !== behind.id)
    .sort(byScore)
    .slice(0, limit);
}
