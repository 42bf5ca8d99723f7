/** How many letters are wrong, missing, too many, or swapped with their neighbour (the optimal string alignment distance). */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    const row = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 0 && j > 1 && a[i] === b[j - 2] && a[i - 1] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min(replaced, swapped, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    before = above;
    above = row;
  }
  return above.at(-1) ?? 0;
}
