import { type EmbedTexts, LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import type { PartResult, Pool } from '../../infra/wasm/pool.ts';
import { embed } from '../kernels.ts';
import {
  CHARACTERS_AT_ONCE_MAX,
  EMBEDDING_RUN_MS_MAX,
  EMBEDDING_WAIT_MS_MAX,
  PART_CHARACTERS_MAX,
  PART_TEXTS_MAX,
} from '../limits.ts';

const { dimensions } = LOCAL_EMBEDDING_MODEL;

/**
 * Embeds with the built-in model: the list is divided among the threads, and the results are joined in its order. A single short text
 * needs no thread.
 */
export function createEmbed({ pool }: { pool: Pool }): EmbedTexts {
  return async (texts, signal) => {
    const [text] = texts;
    if (text === undefined) return new Float32Array(0);
    if (texts.length === 1 && text.length <= CHARACTERS_AT_ONCE_MAX) {
      signal.throwIfAborted();
      return pool.runHere({ kind: 'embed', handler: embed, input: texts }) as Float32Array;
    }
    const results = await pool.run({
      kind: 'embed',
      lane: 'short',
      parts: toParts(texts),
      name: 'Embeddings',
      waitMsMax: EMBEDDING_WAIT_MS_MAX,
      runMsMax: EMBEDDING_RUN_MS_MAX,
      signal,
    });
    const [first] = results;
    return results.length === 1 && first !== undefined ? vectorsOf(first) : join(results, texts.length);
  };
}

function toParts(texts: readonly string[]): string[][] {
  const parts: string[][] = [];
  let part: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (
      part.length === PART_TEXTS_MAX ||
      (part.length > 0 && characters + text.length > PART_CHARACTERS_MAX)
    ) {
      parts.push(part);
      part = [];
      characters = 0;
    }
    part.push(text);
    characters += text.length;
  }
  parts.push(part);
  return parts;
}

function join(results: readonly PartResult[], rows: number): Float32Array {
  const vectors = new Float32Array(rows * dimensions);
  let at = 0;
  for (const result of results) {
    vectors.set(vectorsOf(result), at);
    at += vectorsOf(result).length;
  }
  return vectors;
}

const vectorsOf = ({ output }: PartResult): Float32Array => output as Float32Array;
