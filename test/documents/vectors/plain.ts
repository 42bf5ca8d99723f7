// What the kernel does, in the plainest TypeScript.

import { byScore, type NearestPassage } from '../../../src/documents/vectors/engine.ts';

type Scan = { components: Int16Array; limit: number; documents: readonly string[] | undefined };

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
  { components, limit, documents }: Scan,
): NearestPassage[] {
  return rows
    .filter(({ document }) => documents === undefined || documents.includes(document))
    .map(({ id, stored }) => ({ id, score: scoreOf(components, stored) }))
    .sort(byScore)
    .slice(0, limit);
}
