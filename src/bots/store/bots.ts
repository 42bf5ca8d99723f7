import type { Author } from '../../core/author.ts';
import type { PageRequest } from '../../http/paging.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import type { Bot, BotReference } from '../bot.ts';

export type BotStore = ReturnType<typeof createBotStore>;

/** Defaults for verifications that were stored by versions without these members. */
const DEFAULTS = { jwks_anywhere: false };

/** A bot as the audit log keeps one: of its key set neither the keys nor what stands in its URL besides host and path. */
const STATE = `jsonb_build_object('verification', verification - 'jwks_anywhere' || jsonb_build_object('jwks',
    CASE jsonb_typeof(verification->'jwks')
      WHEN 'string' THEN to_jsonb(substring(verification->>'jwks' FROM '^[A-Za-z]+:[/\\\\]*(?:[^/?#]*@)?([^?#]*)'))
      WHEN 'object' THEN '"a key set of its own"'::jsonb END),
  'agent_id', agent_id, 'welcome_text', welcome_text, 'commands', commands)`;

export function createBotStore(sql: Transaction) {
  const columns = sql`workspace_id AS "workspaceId", id, ${sql.json(DEFAULTS)}::jsonb || verification AS verification, agent_id AS "agentId",
    welcome_text AS "welcomeText", commands, created_at AS "createdAt", updated_at AS "updatedAt"`;
  const audit = (author: Author, change: 'put' | 'delete', states: { before?: Fragment; after?: Fragment }) =>
    audited(sql, author, {
      action: `bots.${change}`,
      workspace: sql`workspace_id`,
      kind: 'bot',
      id: sql`id`,
      ...states,
    });
  return {
    /** Newest first, one row more than the limit where others follow. */
    list(workspaceId: string, { limit, after }: PageRequest): Promise<Bot[]> {
      return sql<Bot[]>`
        SELECT ${columns} FROM bots
        WHERE workspace_id = ${workspaceId}
          AND ${after === undefined ? sql`true` : sql`(created_at, id) < (${after.createdAt}, ${after.id})`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    async find({ workspaceId, id }: BotReference): Promise<Bot | undefined> {
      const [row] = await sql<Bot[]>`
        SELECT ${columns} FROM bots WHERE workspace_id = ${workspaceId} AND id = ${id}`;
      return row;
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
      if (row === undefined) throw new Error('an upsert returned no row');
      return row;
    },

    /** Whether there was one. */
    async delete({ workspaceId, id }: BotReference, author: Author): Promise<boolean> {
      const rows = await sql`
        DELETE FROM bots WHERE workspace_id = ${workspaceId} AND id = ${id}
        RETURNING ${audit(author, 'delete', { before: sql.unsafe(STATE) })}`;
      return rows.length > 0;
    },
  };
}
