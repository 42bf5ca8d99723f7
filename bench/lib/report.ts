// Tables as bench/RESULTS.md has them.

export function printTable(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  console.log(`\n${title}\n\n${line(head)}\n|${head.map(() => '---').join('|')}|`);
  for (const row of rows) console.log(line(row));
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

export const milliseconds = (value: number): string => (value < 10 ? value.toFixed(1) : whole(value));

export const multiple = (value: number): string => `${value < 10 ? value.toFixed(1) : whole(value)} ×`;

/** Both multiples, and whether they keep to the target. */
export function verdict(values: readonly number[], target: number | undefined, unit = '×'): string {
  if (target === undefined) return '';
  const kept = values.every((value) => value <= target);
  return `≤ ${target} ${unit}: ${kept ? 'met' : '**missed**'}`;
}
