import type { PageRequest } from '../../http/paging.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { Bot, BotReference } from '../bot.ts';

export type BotStore = ReturnType<typeof createBotStore>;

/** Defaults for verifications that were stored by versions without these members. */
const DEFAULTS = { jwks_anywhere: false };

/** The bots table. */
export function createBotStore(sql: Transaction) {
  const columns = sql`workspace_id AS "workspaceId", id, ${sql.json(DEFAULTS)}::jsonb || verification AS verification, agent_id AS "agentId",
    welcome_text AS "welcomeText", commands, created_at AS "createdAt", updated_at AS "updatedAt"`;
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
    async put(bot: Bot): Promise<Bot> {
      const json = (value: object) => sql.json(value as never);
      const [row] = await sql<Bot[]>`
        INSERT INTO bots (workspace_id, id, verification, agent_id, welcome_text, commands, created_at, updated_at)
        VALUES (${bot.workspaceId}, ${bot.id}, ${json(bot.verification)}::jsonb, ${bot.agentId}, ${bot.welcomeText},
          ${json(bot.commands)}::jsonb, ${bot.createdAt}, ${bot.updatedAt})
        ON CONFLICT (workspace_id, id) DO UPDATE SET verification = excluded.verification,
          agent_id = excluded.agent_id, welcome_text = excluded.welcome_text, commands = excluded.commands,
          updated_at = excluded.updated_at
        RETURNING ${columns}`;
      if (row === undefined) throw new Error('an upsert returned no row');
      return row;
    },

    /** Whether there was one. */
    async delete({ workspaceId, id }: BotReference): Promise<boolean> {
      const { count } = await sql`DELETE FROM bots WHERE workspace_id = ${workspaceId} AND id = ${id}`;
      return count > 0;
    },
  };
}
