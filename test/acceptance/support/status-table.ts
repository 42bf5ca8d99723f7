// Expected statuses as a table that a person can read: a heading line, then a line a case.

export type StatusRow = { labels: Record<string, string>; statuses: Record<string, number> };

/** The rows of a table whose first columns are `labels` and whose other columns hold a status each, with a title. */
export function parseStatusTable(text: string, labels: readonly string[]): [title: string, row: StatusRow][] {
  const lines = text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([first]) => first !== '');
  const [heading = [], ...rows] = lines;
  return rows.map((cells) => {
    if (cells.length !== heading.length)
      throw new Error(`a row does not fit the heading: ${cells.join(' ')}`);
    const pairs = heading.map((column, index): [string, string] => [column, cells[index] ?? '']);
    const named = Object.fromEntries(pairs.slice(0, labels.length));
    const statuses = Object.fromEntries(
      pairs.slice(labels.length).map(([caller, status]) => [caller, Number(status)]),
    );
    return [Object.values(named).join(' '), { labels: named, statuses }];
  });
}
