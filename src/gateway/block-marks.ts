// Properties of a block of a stream that can be found without parsing it.

const EVENT_END = Buffer.from('\n\n');

/** At least one: where lines end otherwise, it is not seen how many. */
export function countEvents(block: Uint8Array): number {
  let count = 0;
  for (let at = 0; ; count++) {
    const found: number = Buffer.prototype.indexOf.call(block, EVENT_END, at);
    if (found === -1) return Math.max(1, count);
    at = found + 2;
  }
}

/** Whether the last event of the block is `[DONE]`. */
export function endsWithDone(block: Uint8Array): boolean {
  let at = block.length - 1;
  while (at >= 0 && (block[at] === 0x0a || block[at] === 0x0d || block[at] === 0x20)) at--;
  // `E]` of `[DONE]`; and nothing but the data's name before it.
  if (block[at] !== 0x5d || block[at - 1] !== 0x45) return false;
  return /(?:^|\n)data: ?\[DONE\]$/.test(
    Buffer.from(block.subarray(Math.max(0, at - 16), at + 1)).toString('latin1'),
  );
}

export const hasFinishReason = (block: Uint8Array): boolean =>
  /"finish_reason":\s*"/.test(Buffer.from(block).toString('latin1'));

/** Somewhere within the block: comments may follow. */
export const hasDone = (block: Uint8Array): boolean =>
  /(?:^|\n)data: ?\[DONE\]\r?\n/.test(Buffer.from(block).toString('latin1'));
