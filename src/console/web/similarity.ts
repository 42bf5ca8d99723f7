/** The cosine of two vectors of the same length; 0 where one of them has no length. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  let [dot, lengthOfA, lengthOfB] = [0, 0, 0];
  for (const [at, value] of a.entries()) {
    const other = b[at] ?? 0;
    dot += value * other;
    lengthOfA += value * value;
    lengthOfB += other * other;
  }
  return lengthOfA === 0 || lengthOfB === 0 ? 0 : dot / Math.sqrt(lengthOfA * lengthOfB);
}
