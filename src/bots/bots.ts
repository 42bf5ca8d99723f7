// Registered bots.

import type { Author } from '../core/author.ts';
import { createCachedLookup } from '../core/cached-lookup.ts';
import { notFound } from '../core/errors.ts';
import type { PageRequest } from '../http/paging.ts';
import { audited } from '../infra/postgres/audit.ts';
import type { Fragment, Transaction } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import type { KeySet } from './key-sets.ts';
import { CACHE_TTL_MS, CACHED_BOTS_MAX, WORKSPACE_LENGTH_MAX } from './limits.ts';
import { isBotId } from './schema.ts';

export type Verification = {
  mode: 'project_number' | 'endpoint_url' | 'key';
  audience: string | null;
  /** A URL, or a key set itself; null: the platform's own. */
  jwks: string | KeySet | null;
  /** In the mode `endpoint_url`: the account that sends the events of an add-on; absent: the platform's own. */
  service_account_email?: string;
  /** Whether the URL may lead to an address that is not public, because an operator has set it. */
  jwks_anywhere: boolean;
};

export type Command = { id: number; name: string; reply: string | null; agent_id: string | null };

export type BotSettings = {
  verification: Verification;
  agentId: string | null;
  welcomeText: string | null;
  commands: readonly Command[];
};

export type BotReference = { workspaceId: string; id: string };

export const toBotReference = (path: { workspace_id: string; bot_id: string }): BotReference => ({
  workspaceId: path.workspace_id,
  id: path.bot_id,
});

export type Bot = BotReference & BotSettings & { createdAt: Date; updatedAt: Date };

export type Bots = ReturnType<typeof createBotStore>;

/** A bot as the audit log keeps one: of its key set neither the keys nor what stands in its URL besides host and path. */
const STATE = `jsonb_build_object('verification', verification - 'jwks_anywhere' || jsonb_build_object('jwks',
    CASE jsonb_typeof(verification->'jwks')
      WHEN 'string' THEN to_jsonb(substring(verification->>'jwks' FROM '^[A-Za-z]+:[/\\\\]*(?:[^/?#]*@)?([^?#]*)'))
      WHEN 'object' THEN '"a key set of its own"'::jsonb END),
  'agent_id', agent_id, 'welcome_text', welcome_text, 'commands', commands)`;

/** `invalidation` tells of changes in all processes; without it nothing is cached. */
export function createBotStore(
  sql: Transaction,
  invalidation?: Pick<Invalidation, 'subscribe' | 'connected'>,
) {
  const columns = sql`workspace_id AS "workspaceId", id, verification, agent_id AS "agentId",
    welcome_text AS "welcomeText", commands, created_at AS "createdAt", updated_at AS "updatedAt"`;
  const audit = (author: Author, change: 'put' | 'delete', states: { before?: Fragment; after?: Fragment }) =>
    audited(sql, author, {
      action: `bots.${change}`,
      workspace: sql`workspace_id`,
      kind: 'bot',
      id: sql`id`,
      ...states,
    });
  const find = async ({ workspaceId, id }: BotReference): Promise<Bot | undefined> => {
    const [row] = await sql<Bot[]>`
      SELECT ${columns} FROM bots WHERE workspace_id = ${workspaceId} AND id = ${id}`;
    return row;
  };
  const cached = createCachedLookup<Bot>({
    load: (key) => find(toReference(key)),
    ttlMs: CACHE_TTL_MS,
    entriesMax: CACHED_BOTS_MAX,
    usable: invalidation?.connected ?? (() => false),
  });
  invalidation?.subscribe('bots', cached.drop, cached.reset);
  return {
    /** Newest first, one row more than the limit where others follow. */
    list(workspaceId: string, { limit, after }: PageRequest): Promise<Bot[]> {
      return sql<Bot[]>`
        SELECT ${columns} FROM bots
        WHERE workspace_id = ${workspaceId}
          AND ${after === undefined ? sql`true` : sql`(created_at, id) < (${after.createdAt}, ${after.id})`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    find,

    /** Throws 404. A name that no bot can have is neither looked up nor cached. */
    async require(reference: BotReference, { cached: isCached = true } = {}): Promise<Bot> {
      const possible = isBotId(reference.id) && reference.workspaceId.length <= WORKSPACE_LENGTH_MAX;
      const bot = possible ? await (isCached ? cached.get(toKey(reference)) : find(reference)) : undefined;
      if (bot === undefined) throw botNotFound();
      return bot;
    },

    /** Creates the bot, or replaces it except for its time of creation; returns the stored bot. */
    async put(bot: Bot, author: Author): Promise<Bot> {
      const json = (value: object) => sql.json(value as never);
      // It is read, and locked, before it is replaced: the count needs every row of it.
      const [row] = await sql<Bot[]>`
        WITH prior AS (
          SELECT ${sql.unsafe(STATE)} AS was FROM bots
          WHERE workspace_id = ${bot.workspaceId} AND id = ${bot.id} FOR NO KEY UPDATE)
        INSERT INTO bots (workspace_id, id, verification, agent_id, welcome_text, commands, created_at, updated_at)
        SELECT ${bot.workspaceId}, ${bot.id}, ${json(bot.verification)}::jsonb, ${bot.agentId}::text,
          ${bot.welcomeText}::text, ${json(bot.commands)}::jsonb, ${bot.createdAt}::timestamptz,
          ${bot.updatedAt}::timestamptz
        FROM (SELECT count(was) FROM prior) AS locked
        ON CONFLICT (workspace_id, id) DO UPDATE SET verification = excluded.verification,
          agent_id = excluded.agent_id, welcome_text = excluded.welcome_text, commands = excluded.commands,
          updated_at = excluded.updated_at
        RETURNING ${columns},
          ${audit(author, 'put', { before: sql`(SELECT was FROM prior)`, after: sql.unsafe(STATE) })}`;
      cached.drop(toKey(bot));
      if (row === undefined) throw new Error('an upsert returned no row');
      return row;
    },

    /** Whether there was one. */
    async delete({ workspaceId, id }: BotReference, author: Author): Promise<boolean> {
      const rows = await sql`
        DELETE FROM bots WHERE workspace_id = ${workspaceId} AND id = ${id}
        RETURNING ${audit(author, 'delete', { before: sql.unsafe(STATE) })}`;
      cached.drop(toKey({ workspaceId, id }));
      return rows.length > 0;
    },
  };
}

export const botNotFound = () => notFound('Bot not found');

/** The key of the database's notifications; a workspace's name has no slash. */
const toKey = ({ workspaceId, id }: BotReference): string => `${workspaceId}/${id}`;

function toReference(key: string): BotReference {
  const slash = key.indexOf('/');
  return { workspaceId: key.slice(0, slash), id: key.slice(slash + 1) };
}
