// What the bytes of a block say without being parsed, and which choices it finishes.

import { parseJson } from '../core/json.ts';
import { CR, LF, parseEvents } from './events.ts';

const DATA_NAME = Buffer.from('data:');

/** Events with data, which stands in one line. */
export function countEvents(block: Uint8Array): number {
  const find = (from: number): number => Buffer.prototype.indexOf.call(block, DATA_NAME, from);
  let count = 0;
  for (let at = find(0); at !== -1; at = find(at + DATA_NAME.length))
    if (at === 0 || block[at - 1] === LF || block[at - 1] === CR) count++;
  return count;
}

/** Whether the last event of the block is `[DONE]`. */
export function endsWithDone(block: Uint8Array): boolean {
  let at = block.length - 1;
  while (at >= 0 && (block[at] === 0x0a || block[at] === 0x0d || block[at] === 0x20)) at--;
  // `E]` of `[DONE]`; and nothing but the data's name before it.
  if (block[at] !== 0x5d || block[at - 1] !== 0x45) return false;
  return /(?:^|[\r\n])data: ?\[DONE\]$/.test(
    Buffer.from(block.subarray(Math.max(0, at - 16), at + 1)).toString('latin1'),
  );
}

/** The indices of the choices that the block finishes. */
export const finishedChoices = (block: Uint8Array): unknown[] =>
  parseEvents(Buffer.from(block).toString()).flatMap(({ data }) => {
    try {
      const { choices } = parseJson(data) as { choices?: { index?: unknown; finish_reason?: unknown }[] };
      const finished = choices?.filter(({ finish_reason: reason }) => typeof reason === 'string') ?? [];
      return finished.map(({ index }) => index ?? 0);
    } catch {
      return [];
    }
  });
