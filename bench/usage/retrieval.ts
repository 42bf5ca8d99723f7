// A page in the depth of a million events beside the first one, and what a total costs.

import { renderCursor } from '../../src/usage/cursor.ts';
import { createEventReader, toMs } from '../../src/usage/store/reader.ts';
import { milliseconds, printTable } from '../lib/report.ts';
import { drained, type Setting, startSetting } from './setting.ts';

const DEPTH = 1_000_000;
const REQUESTS = 400;
const SIZE = 100;
/** What the database keeps up with. */
const FILL_RATE = 60_000;

type Page = { name: string; limit: number | undefined; ms: number; ratio: number };

export async function measureRetrieval(): Promise<void> {
  await using setting = await startSetting('journal');
  const { held, pages } = await comparePages(setting, DEPTH, REQUESTS);
  printTable(
    `Pages of ${SIZE} of ${held} events, one request at a time`,
    ['page', 'p50 ms', 'of the first', 'target'],
    pages.map(({ name, limit, ms, ratio }) => {
      const target = limit === undefined ? '' : `≤ ${limit} ×: ${ratio <= limit ? 'met' : '**missed**'}`;
      return [name, milliseconds(ms), `${ratio.toFixed(2)} ×`, target];
    }),
  );
}

/** Pages at the depth and with totals, as multiples of the first page, of at least a tenth more events than the depth. */
async function comparePages(
  setting: Setting,
  depth: number,
  requests: number,
): Promise<{ held: number; pages: Page[] }> {
  const [target] = setting.targets;
  if (target === undefined) throw new Error('no workspace');
  const { workspace, key } = target;
  const held = async (): Promise<number> => {
    const [row] = await setting.sql<{ events: number }[]>`
      SELECT coalesce(sum(events), 0)::bigint AS events FROM usage_counts WHERE grain = 86400 AND workspace_id = ${workspace}`;
    return row?.events ?? 0;
  };
  while ((await held()) < depth * 1.1)
    await setting.send({ batch: 200, flight: 8, seconds: 20, rate: FILL_RATE });
  await drained(setting);
  await setting.sql.unsafe('VACUUM ANALYZE usage_events');
  const deep = await cursorAt(setting, workspace, depth);
  const url = `${setting.service.url}/api/v1/workspace_metric/${workspace}/by_created_at?authorization=${key}&size=${SIZE}`;
  const pages = {
    'the first page': url,
    [`forwards from ${depth.toLocaleString('en-US')}`]: `${url}&cursor=${deep.forwards}`,
    [`backwards from ${depth.toLocaleString('en-US')}`]: `${url}&cursor=${deep.backwards}`,
    'the first page with include_total': `${url}&include_total=true`,
    'a window of an hour with include_total': `${url}&include_total=true&from_date=${new Date(Date.now() - 3_600_123).toISOString().slice(0, -1)}`,
  };
  const times = await measureAll(Object.values(pages), requests);
  const first = times[0] ?? 0;
  const limits = [undefined, 1.2, 1.2, 2, 2];
  const compared = Object.keys(pages).map((name, index) => {
    const ms = times[index] ?? 0;
    return { name, limit: limits[index], ms, ratio: ms / first };
  });
  return { held: await held(), pages: compared };
}

/** Medians, of requests that take turns. */
async function measureAll(urls: readonly string[], requests: number): Promise<number[]> {
  const times = urls.map((): number[] => []);
  for (let request = 0; request < requests; request++) {
    for (const [index, url] of urls.entries()) {
      const startedAt = performance.now();
      const answer = await fetch(url);
      const { items } = (await answer.json()) as { items: unknown[] };
      if (items.length !== SIZE) throw new Error(`${url}: ${items.length} items`);
      times[index]?.push(performance.now() - startedAt);
    }
  }
  return times.map((each) => each.toSorted((a, b) => a - b)[Math.floor(requests / 2)] ?? 0);
}

/** The cursors of a place that a walk would take thousands of pages to. */
async function cursorAt({ sql }: Setting, workspaceId: string, depth: number) {
  const secret = await createEventReader(sql).cursorSecret();
  const [row] = await sql<{ id: string; at: string }[]>`
    SELECT id, created_at::text AS at FROM usage_events WHERE workspace_id = ${workspaceId}
    ORDER BY created_at, id OFFSET ${depth} LIMIT 1`;
  if (row === undefined) throw new Error('not that deep');
  const position = { createdAtMs: toMs(row.at), id: row.id };
  const window = { workspaceId, from: undefined, to: undefined };
  const cursor = (backwards: boolean) =>
    renderCursor(secret, window, { backwards, position, inclusive: false });
  return { forwards: cursor(false), backwards: cursor(true) };
}
