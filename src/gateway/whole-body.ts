import { nonsense } from './answer.ts';
import { ANSWER_BYTES_MAX } from './limits.ts';

/** Answers up to here are read at once. */
const SMALL_BYTES = 65_536;

/** Reads a whole answer; `onChunk` is called for each chunk. Throws AttemptFailure for one that is too large. */
export async function readWhole(response: Response, onChunk: () => void): Promise<Uint8Array> {
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (length > ANSWER_BYTES_MAX) throw nonsense(new Error('the answer is too large'));
  if (length <= SMALL_BYTES || response.body === null) return response.bytes();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    onChunk();
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw nonsense(new Error('the answer is too large'));
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}
