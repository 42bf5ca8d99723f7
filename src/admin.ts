// `bun run admin …`: the operations of the administration on the command line, without HTTP.

import { join } from 'node:path';
import { createAccess, trustedOperator } from './access/index.ts';
import { backup, cancelMove, move, restore, verify } from './admin/backups.ts';
import { createCalls, explainRefusal } from './admin/calls.ts';
import { type Invocation, parseCommandLine, UsageError } from './admin/command-line.ts';
import {
  adoptBucket,
  type Context,
  type Done,
  reindexSearch,
  showBucket,
  verifySearch,
} from './admin/maintenance.ts';
import {
  type Row,
  renderFields,
  renderHelp,
  renderPage,
  renderRefusal,
  renderSums,
  renderTable,
} from './admin/render.ts';
import { createBotAdministration } from './bots/index.ts';
import { createAgentAdministration } from './chat/index.ts';
import { type Config, loadConfig } from './config.ts';
import { systemClock } from './core/clock.ts';
import { messageOf } from './core/errors.ts';
import type { Logger } from './core/logger.ts';
import { SettingsError } from './core/settings-reader.ts';
import { openDatabase } from './database.ts';
import { createContentAdministration, readIdentity } from './documents/index.ts';
import { createModelUsageAdministration, MODEL_USAGE_PROJECTION } from './gateway/index.ts';
import type { Sql } from './infra/postgres/client.ts';
import { createInvalidation } from './infra/postgres/invalidation.ts';
import { createUsage } from './usage/index.ts';

/** The operation refused or failed; the message is one line. */
class Refused extends Error {}

const tell = (fields: object, message: string): void => {
  const { err } = fields as { err?: unknown };
  process.stderr.write(`admin: ${message}${err instanceof Error ? `: ${err.message}` : ''}\n`);
};

/** Standard output holds the answer alone: warnings and errors go to standard error. */
const log: Logger = { debug: () => undefined, info: () => undefined, warn: tell, error: tell };

const MAINTENANCE: Readonly<Record<string, (context: Context) => Promise<Done>>> = {
  'search.reindex': reindexSearch,
  'search.verify': verifySearch,
  'bucket.show': showBucket,
  'bucket.adopt': adoptBucket,
  'service.backup': backup,
  'service.verify': verify,
  'service.restore': restore,
  'service.move': move,
  'service.cancel-move': cancelMove,
};

async function main(words: readonly string[]): Promise<void> {
  const typed = parseCommandLine(words, systemClock.now());
  if ('help' in typed) return await print(renderHelp(typed.help));
  const config = loadConfig(process.env);
  for (const sentence of config.unknownSettings) tell({}, sentence);
  const maintain = MAINTENANCE[typed.command.operation];
  if (maintain === undefined) return await operate(typed, config);
  const { report, refusal } = await maintain({ config, log, body: typed.body ?? {} });
  await print(typed.json ? `${JSON.stringify(report)}\n` : renderFields(report as Row));
  if (refusal !== undefined) throw new Refused(refusal);
}

async function operate(typed: Invocation, config: Config): Promise<void> {
  const { sql, close } = await openDatabase(config, log);
  try {
    const call = await createAdministration(sql, config, typed.command.operation);
    const principal = trustedOperator(typed.path['workspace_id'] ?? '');
    const ask = async (query: Record<string, string>): Promise<unknown> => {
      const { command, path, body } = typed;
      try {
        return await call(
          command.operation,
          { principal },
          { path, query: { ...typed.query, ...query }, body },
        );
      } catch (error) {
        throw new Refused(renderRefusal(command, explainRefusal(error)));
      }
    };
    await print(await render(typed, ask));
  } finally {
    await close();
  }
}

async function createAdministration(sql: Sql, config: Config, operation: string) {
  const usage = await createUsage({
    sql,
    clock: systemClock,
    log,
    identity: () => readIdentity(sql),
    directory: join(config.dataDir, 'events'),
    settings: config.usage,
    projections: [MODEL_USAGE_PROJECTION],
  });
  const access = createAccess({
    sql,
    clock: systemClock,
    log,
    invalidation: createInvalidation({ sql, log }),
    // The processes of the service look for events each second by themselves.
    wakeMover: () => undefined,
    settings: config.access,
  });
  if (operation === 'metrics.replay-dead-letters') await usage.buffer.start();
  return createCalls(
    [
      access.routes,
      createAgentAdministration(sql, access.requireWorkspace),
      createBotAdministration({ sql, clock: systemClock, requireWorkspace: access.requireWorkspace }),
      createContentAdministration(sql, access.requireWorkspace),
      usage.routes,
      createModelUsageAdministration({ sql, describeKeys: access.describeKeys, clock: systemClock }),
    ],
    log,
  );
}

/** Resolves when everything is written: a pipe may take its time. */
const print = (text: string): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(text, () => resolve());
  });

/** The text of the operation's answer; all pages of a list. */
async function render(
  { command, json }: Invocation,
  ask: (query: Record<string, string>) => Promise<unknown>,
): Promise<string> {
  if (!command.words.endsWith(' list')) {
    const body = await ask({});
    if (json) return `${JSON.stringify(body ?? {})}\n`;
    const { items, total, ...page } = (body ?? {}) as {
      items?: Row[];
      total?: Row;
      next_cursor?: string | null;
    };
    if (items !== undefined && total !== undefined) return renderSums(items, total);
    if (items !== undefined) return renderPage(items, page.next_cursor);
    return body === undefined ? 'Done.\n' : renderOne(body as Row);
  }
  const rows: Row[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = (await ask({ limit: '100', cursor })) as { items: Row[]; next_cursor: string | null };
    rows.push(...page.items);
    cursor = page.next_cursor;
  }
  return json ? `${JSON.stringify({ items: rows, next_cursor: null })}\n` : renderTable(rows);
}

/** A new key stands alone on the last line. */
function renderOne({ key, ...fields }: Row): string {
  const table = renderFields(fields);
  return typeof key === 'string' ? `${table}\nThe key, shown this once:\n${key}\n` : table;
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  const told = error instanceof SettingsError ? error.message : messageOf(error).replaceAll('\n', ' ');
  process.stderr.write(told.replaceAll(/^/gm, 'admin: ').concat('\n'));
  process.exit(error instanceof UsageError || error instanceof SettingsError ? 2 : 1);
}
