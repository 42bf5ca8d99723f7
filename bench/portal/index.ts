// The portal on a workspace as it is after months: how long a first load takes beside an empty page of the same server, how
// long each page's data takes, and what each interaction costs the main thread of the browser.

import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { milliseconds, multiple, printTable, verdict, whole } from '../lib/report.ts';
import { workspacesOf } from '../search/corpus.ts';
import { ensureCorpus, keyOf } from '../search/load.ts';
import { startServer } from '../search/server.ts';
import { callsOf, launch, loadMs, settle, signIn, timeCalls, traced } from './browser.ts';
import { fill } from './fill.ts';

const PARTS = ['load', 'data', 'interactions'] as const;
const OPTIONS = {
  documents: { type: 'string', default: '100000' },
  keys: { type: 'string', default: '1000' },
  events: { type: 'string', default: '10000000' },
  days: { type: 'string', default: '90' },
  'raw-events': { type: 'string', default: '10000000' },
  audit: { type: 'string', default: '100000' },
  rounds: { type: 'string', default: '7' },
  data: { type: 'string', default: join(import.meta.dir, '../.data-portal') },
  parts: { type: 'string', default: PARTS.join(',') },
} as const;

const LOAD_TIMES_MAX = 3;
const DATA_MS_MAX = 300;
const INTERACTION_MS_MAX = 100;

/** Each view whose data is measured; some have more than one. */
const VIEWS = [
  '',
  'keys',
  'people',
  'workspaces',
  'library',
  'library?q=report',
  'library?view=archive',
  'usage',
  'usage?days=365',
  'usage?by=key',
  'usage?by=person&days=365',
  'usage?view=events',
  'usage?view=events&by=subject&days=365',
  'models',
  'playground',
  'conversations',
  'agents',
  'bots',
  'events',
  'health',
  'audit',
  'sessions',
];

export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
  const parts = values.parts.split(',');
  const rounds = Number(values.rounds);
  const folder = resolve(values.data);
  const [large] = workspacesOf({ documents: Number(values.documents), others: 0, small: 0 });
  if (large === undefined) throw new Error('no workspace');
  console.log(
    `${whole(large.documents)} documents, ${values.keys} keys, ${whole(Number(values.events))} events in ${folder}`,
  );
  await ensureCorpus(folder, [large]);
  const server = await startServer(folder, large, { LOG_LEVEL: 'warn', CONTENT: 'off' });
  const browser = await launch();
  try {
    await fillService(server.databaseUrl, large.id, values);
    if (parts.includes('load')) await measureLoad(browser, server.url, rounds);
    const page = await signIn(browser, server.url, keyOf(large, 'admin'));
    if (parts.includes('data')) await measureData(page, server.url, rounds);
    if (parts.includes('interactions')) await measureInteractions(browser, page, server.url);
  } finally {
    await browser.close();
    await server.child.stop();
  }
}

async function fillService(
  databaseUrl: string,
  workspace: string,
  values: { [name in 'keys' | 'events' | 'days' | 'raw-events' | 'audit']: string },
): Promise<void> {
  const sql = connectPostgres({
    url: databaseUrl,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  try {
    const [row] = await sql<{ filled: boolean }[]>`
      SELECT EXISTS (SELECT FROM model_usage WHERE workspace_id = ${workspace}) AS filled`;
    if (row?.filled === true) return;
    await fill(sql, workspace, {
      keys: Number(values.keys),
      events: Number(values.events),
      days: Number(values.days),
      rawEvents: Number(values['raw-events']),
      audit: Number(values.audit),
    });
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** The two alternate, so that both meet the same machine. */
async function measureLoad(browser: Browser, url: string, rounds: number): Promise<void> {
  const empty: number[] = [];
  const portal: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    empty.push(await loadMs(browser, `${url}/healthz`, 'body'));
    portal.push(await loadMs(browser, `${url}/admin`, 'h1'));
  }
  // The first load of each starts the browser's own parts.
  const [base, own] = [median(empty.slice(1)), median(portal.slice(1))];
  printTable(
    'First load with an empty cache, until the page shows',
    ['empty page', 'portal', 'ratio', 'target'],
    [[milliseconds(base), milliseconds(own), multiple(own / base), verdict([own / base], LOAD_TIMES_MAX)]],
  );
}

async function measureData(page: Page, url: string, rounds: number): Promise<void> {
  const rows: string[][] = [];
  for (const view of VIEWS) {
    const calls = await callsOf(page, `${url}/admin/${view}`);
    const all: number[] = [];
    const each: number[][] = calls.map(() => []);
    for (let round = 0; round < rounds; round++) {
      const times = await timeCalls(page, calls);
      all.push(times.all);
      for (const [at, ms] of times.each.entries()) each[at]?.push(ms);
    }
    const slowest = calls
      .map((call, at) => ({ call, ms: median(each[at] ?? []) }))
      .sort((a, b) => b.ms - a.ms)[0];
    rows.push([
      `\`/admin/${view}\``,
      whole(calls.length),
      milliseconds(median(all)),
      slowest === undefined ? '' : `${milliseconds(slowest.ms)} \`${slowest.call}\``,
      verdict([median(all)], DATA_MS_MAX, 'ms'),
    ]);
  }
  printTable(
    "Each page's data from the server, all calls at once, median in ms",
    ['page', 'calls', 'all', 'slowest alone', 'target'],
    rows,
  );
}

async function measureInteractions(browser: Browser, page: Page, url: string): Promise<void> {
  const rows: string[][] = [];
  const follow = (name: string) => async (): Promise<void> => {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  };
  const select = (label: string, value: string) => () => page.getByLabel(label).selectOption(value);
  const press = (name: string) => () => page.getByRole('button', { name }).first().click();
  const leaveForm = () => page.keyboard.press('Escape');
  const older = () => page.getByRole('link', { name: 'Older' }).click();
  const interactions: [page: string, name: string, interact: () => Promise<unknown>][] = [
    ['', 'open Library', follow('Library')],
    ['library', 'open a document', () => page.locator('tbody tr a').first().click()],
    ['library', 'select all rows', () => page.locator('thead input[type=checkbox]').click()],
    ['', 'open Keys', follow('Keys')],
    ['keys', 'older keys', older],
    ['keys', 'open the form of a key', press('Create a key')],
    ['keys?new=1', 'close the form with Escape', leaveForm],
    ['', 'open People', follow('People')],
    ['', 'open Usage', follow('Usage')],
    ['usage', 'period of a year', select('Period', '365')],
    ['usage', 'by key', select('Told apart by', 'key')],
    ['usage', 'by person', select('Told apart by', 'person')],
    ['usage?by=person', 'older rows', older],
    [
      'usage?days=365',
      'open the table of a chart',
      () => page.locator('.chart-table summary').first().click(),
    ],
    ['usage?view=events', 'by person', select('Told apart by', 'subject')],
    ['', 'open Models', follow('Models')],
    ['', 'open Events', follow('Events')],
    ['', 'open Audit', follow('Audit')],
    ['audit', 'older rows', older],
    ['', 'open Health', follow('Health')],
    ['health', 'open Home', follow('Home')],
  ];
  for (const [view, name, interact] of interactions) {
    await page.goto(`${url}/admin/${view}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settle(page);
    try {
      const { totalMs, longestMs } = await traced(browser, page, interact);
      rows.push([
        `/admin/${view}`,
        name,
        milliseconds(totalMs),
        milliseconds(longestMs),
        verdict([totalMs], INTERACTION_MS_MAX, 'ms'),
      ]);
    } catch (error) {
      await browser.stopTracing().catch(() => undefined);
      rows.push([`/admin/${view}`, name, '–', '–', `**not done**: ${String(error).split('\n')[0]}`]);
    }
  }
  printTable(
    'Main thread of the browser for an interaction until the page rests, in ms',
    ['page', 'interaction', 'all tasks', 'longest task', 'target'],
    rows,
  );
}
