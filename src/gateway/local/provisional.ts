import type { EmbedTexts } from '../../core/embed-texts.ts';

const DIMENSIONS = 384;

export const embedProvisionally: EmbedTexts = async (texts) => {
  const vectors = new Float32Array(texts.length * DIMENSIONS);
  for (const [row, text] of texts.entries()) {
    const plain = ` ${text.normalize('NFKC').toLowerCase()} `;
    const vector = vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
    for (let at = 0; at + 3 <= plain.length; at++) {
      const hash = Number(Bun.hash.wyhash(plain.slice(at, at + 3)) & 0xffffffffn);
      vector[hash % DIMENSIONS] = (vector[hash % DIMENSIONS] ?? 0) + (hash & 0x80000000 ? -1 : 1);
    }
    const length = Math.hypot(...vector);
    if (length === 0) vector[0] = 1;
    else for (let at = 0; at < DIMENSIONS; at++) vector[at] = (vector[at] ?? 0) / length;
  }
  return vectors;
};
