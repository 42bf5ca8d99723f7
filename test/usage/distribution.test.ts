// Whether the tables of usage events could be distributed by workspace with Citus: their keys and every statement about them are
// held against the rules that it publishes (docs.citusdata.com: "SQL Support and Workarounds", "Creating and Modifying
// Distributed Objects"). What breaks a rule stands in docs/operating/growing.md, and nothing else does.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE } from '../../src/core/author.ts';
import { newId } from '../../src/core/ids.ts';
import { encodeRow } from '../../src/usage/row.ts';
import { createConversationEventReader } from '../../src/usage/store/conversation-events.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { createOutboxStore } from '../../src/usage/store/outbox.ts';
import { createEventReader } from '../../src/usage/store/reader.ts';
import { createRetention } from '../../src/usage/store/retention.ts';
import { createSummaries, GROUPINGS } from '../../src/usage/store/summaries.ts';
import { createEventWriter } from '../../src/usage/store/writer.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { collectStatements } from '../support/statements.ts';

const ROOT = join(import.meta.dir, '../..');
const GROWING = readFileSync(join(ROOT, 'docs/operating/growing.md'), 'utf8');

/** The tables that grow with the events, as the page names them. */
const TABLES = ['usage_events', 'usage_counts', 'usage_by_source', 'usage_by_subject', 'usage_dead_letters'];
const LISTED = `{${TABLES}}`;
const COLUMN = 'workspace_id';
const NAMED = new RegExp(`\\b(?:${TABLES.join('|')})\\b`);

const database = await shared(testDatabase());

/** A statement may break a rule only where it concerns several workspaces: one of a single workspace runs on one machine. */
type Rule = { says: string; breaks(statement: string): boolean };

const RULES: readonly Rule[] = [
  {
    says: 'a correlated subquery of several workspaces',
    breaks: (statement) =>
      /\blateral\s*\(\s*select[^()]*\bfrom usage_/i.test(statement) && !isOfOneWorkspace(statement),
  },
  {
    says: 'a recursive query of several workspaces',
    breaks: (statement) => /\bwith recursive\b/i.test(statement) && !isOfOneWorkspace(statement),
  },
  {
    says: 'locked rows, samples or grouping sets of several workspaces',
    breaks: (statement) =>
      /\b(?:for (?:update|share|no key)|tablesample|grouping sets|rollup|cube)\b/i.test(statement) &&
      !isOfOneWorkspace(statement),
  },
  {
    says: 'a conflict target without the column',
    breaks: (statement) =>
      [...statement.matchAll(/on conflict \(([^)]*)\)/gi)].some(([, columns]) => !has(columns)),
  },
  {
    says: 'an insertion without the column',
    breaks: (statement) =>
      [...statement.matchAll(/insert into (\w+)(?: as \w+)?\s*\(([^)]*)\)/gi)].some(
        ([, table = '', columns]) => TABLES.includes(table) && !has(columns),
      ),
  },
  {
    says: 'a changed value of the column',
    breaks: (statement) =>
      /\bset\b[^;]*?\bworkspace_id\s*=(?![^;]*\bwhere\b)/i.test(statement.replace(/\bwhere\b.*$/is, '')),
  },
  {
    says: 'a function in a change whose result is not fixed',
    breaks: (statement) =>
      [...statement.matchAll(/\bset\b(.*?)(?:\bwhere\b|\bfrom\b|\breturning\b|$)/gis)].some(
        ([, changes = '']) =>
          /\b(?:now|clock_timestamp|random|gen_random_uuid|current_timestamp|statement_timestamp)\b/i.test(
            changes,
          ),
      ),
  },
  {
    says: 'a join that is not by the column',
    breaks: (statement) =>
      [
        ...statement.matchAll(
          /\bjoin (usage_\w+)(?: (?:as )?\w+)? (on|using)\b\s*(.*?)(?=\bjoin\b|\bwhere\b|\border\b|$)/gis,
        ),
      ].some(([, table = '', , condition]) => TABLES.includes(table) && !has(condition)),
  },
];

const has = (columns = ''): boolean => columns.includes(COLUMN);

/** Each of the tables that it names is restricted to a workspace, or gets the rows of one. */
function isOfOneWorkspace(statement: string): boolean {
  const mentions = [
    ...statement.matchAll(new RegExp(`\\b(?:from|join|into|update|using) ${NAMED.source}`, 'gi')),
  ];
  const restrictions = [...statement.matchAll(/\bworkspace_id = \$\d+/gi)];
  return restrictions.length >= mentions.length;
}

/** What a statement does first, and to which table: enough to find it again. */
function nameOf(statement: string): string {
  const text = statement.replaceAll(/\s+/g, ' ').trim();
  return /insert into usage_events/i.test(text)
    ? 'INSERT INTO usage_events'
    : (/^\w+[^(=]*?\busage_\w+/.exec(text)?.[0] ?? text);
}

/** Every statement about the tables, by calling every operation that sends one. */
async function statementsSent(): Promise<string[]> {
  const { collected: sql, texts } = collectStatements(database.sql);
  const workspaceId = `distributed-${newId()}`;
  const window = { workspaceId, from: Date.now() - 90 * 86_400_000, to: Date.now() + 1000 };
  const row = encodeRow({
    id: newId(),
    workspaceId,
    eventId: newId(),
    source: 'test',
    type: 'chat.create',
    subject: '',
    timeMicroseconds: BigInt(Date.now()) * 1000n,
    data: '{"value":"1"}',
    extensions: null,
    value: '1',
  });
  const writer = createEventWriter(sql);
  await writer.store([row]);
  writer.close();
  await database.sql`SELECT usage_tell(${workspaceId}, 'chat.create', '', '{"value":"1"}')`;
  const outbox = createOutboxStore(sql);
  await outbox.move(await outbox.oldest(10));
  const letters = createDeadLetterStore(sql);
  await letters.add({ workspaceId, reason: 'a reason', row });
  const [letter] = await letters.list(workspaceId, { limit: 1, after: undefined });
  await letters.list(workspaceId, { limit: 1, after: letter });
  const oldest = await letters.oldest(workspaceId, 10, letter === undefined ? [] : [letter.id]);
  await letters.deleteCopies(oldest);
  await letters.delete(workspaceId, undefined, SERVICE);
  const reader = createEventReader(sql);
  for (const backwards of [false, true]) {
    const position = { createdAtMs: Date.now(), id: newId() };
    await reader.page(window, { backwards, position, inclusive: false }, 10);
  }
  await reader.total(window);
  const summaries = createSummaries(sql);
  for (const groupBy of GROUPINGS)
    await summaries.groups({
      ...window,
      typePrefix: 'chat',
      groupBy,
      time: 'stored',
      timezone: 'UTC',
      ofEvents: false,
      after: undefined,
      limit: 10,
    });
  await summaries.total({
    ...window,
    typePrefix: undefined,
    groupBy: 'day',
    time: 'stored',
    timezone: 'UTC',
    ofEvents: false,
    after: undefined,
    limit: 10,
  });
  const page = { limit: 10, after: { createdAt: new Date(0), id: newId() } };
  await createConversationEventReader(sql).page({ workspaceId, sessionId: 1 }, page);
  await createRetention(sql).deleteSome(new Date(Date.now() + 1000), 100);
  return [...new Set(texts())].filter((text) => NAMED.test(text));
}

test('the page about growing names each key and each statement that Citus would refuse, and no other', async () => {
  const keys = await database.sql<{ name: string; fits: boolean }[]>`
    SELECT i.relname AS name, ${COLUMN} = ANY (array_agg(a.attname::text)) AS fits
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
    JOIN pg_attribute a ON a.attrelid = x.indexrelid
    WHERE x.indrelid = ANY (${LISTED}::regclass[]) AND x.indisunique
    GROUP BY 1 ORDER BY 1`;
  expect(keys.length).toBeGreaterThanOrEqual(TABLES.length);
  const statements = await statementsSent();
  const found = [
    ...keys.filter(({ fits }) => !fits).map(({ name }) => `\`${name}\`: a unique key without the column`),
    ...statements.flatMap((statement) =>
      RULES.filter(({ breaks }) => breaks(statement)).map(({ says }) => `\`${nameOf(statement)}\`: ${says}`),
    ),
  ];
  const [, section = ''] = GROWING.split('### What Citus refuses');
  const written = [...(section.split('\n#')[0]?.matchAll(/^- (.*)$/gm) ?? [])].map(([, line = '']) => line);
  expect([...new Set(found)].sort()).toEqual(written.sort());
});

test('no key of another table refers to the tables of usage events, and no trigger stands on them', async () => {
  const references = await database.sql`
    SELECT conname FROM pg_constraint
    WHERE contype = 'f' AND (conrelid = ANY (${LISTED}::regclass[]) OR confrelid = ANY (${LISTED}::regclass[]))`;
  const triggers = await database.sql`
    SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = ANY (${LISTED}::regclass[])`;
  expect([...references, ...triggers]).toEqual([]);
});

test('each source file that names one of the tables in a statement is among those whose statements are looked at', async () => {
  const naming: string[] = [];
  for (const path of new Bun.Glob('src/**/*.ts').scanSync(ROOT)) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    if (new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE) ${NAMED.source}`).test(text))
      naming.push(path.replace('src/usage/store/', ''));
  }
  expect(naming.sort()).toEqual([
    'conversation-events.ts',
    'dead-letters.ts',
    'reader.ts',
    'retention.ts',
    'statement.ts',
    'summaries.ts',
  ]);
});
