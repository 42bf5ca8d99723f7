import { type EmbedTexts, LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import type { createPool } from '../../infra/wasm/pool.ts';
import { embed } from '../kernels.ts';
import { CHARACTERS_AT_ONCE_MAX, EMBEDDING_MS_MAX, PART_TEXTS_MAX } from '../limits.ts';

/**
 * Embeds with the built-in model. A list is divided into parts for the threads; it has at most `atOnce` parts in the queue, so that
 * short lists pass long ones. A single short text needs no thread.
 */
export function createEmbed(pool: ReturnType<typeof createPool>, atOnce: number) {
  let kernels: WebAssembly.Exports | undefined;

  const embedTexts: EmbedTexts = async (texts, signal) => {
    signal.throwIfAborted();
    const [text = ''] = texts;
    if (kernels !== undefined && texts.length === 1 && text.length <= CHARACTERS_AT_ONCE_MAX)
      return embed(kernels, texts);
    const vectors = new Float32Array(texts.length * LOCAL_EMBEDDING_MODEL.dimensions);
    let next = 0;
    const embedParts = async (): Promise<void> => {
      while (next < texts.length) {
        const from = next;
        next += PART_TEXTS_MAX;
        const { output } = await pool.run({
          kind: 'embed',
          input: texts.slice(from, next),
          owner: 'embeddings',
          name: 'Embeddings',
          timeoutMs: EMBEDDING_MS_MAX,
          signal,
        });
        vectors.set(output as Float32Array, from * LOCAL_EMBEDDING_MODEL.dimensions);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, embedParts));
    return vectors;
  };

  return {
    embed: embedTexts,
    /** To be called before the first text. */
    load(module: WebAssembly.Module): void {
      kernels = new WebAssembly.Instance(module, { host: { checkpoint: () => undefined } }).exports;
    },
  };
}
