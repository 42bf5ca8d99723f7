// Agents: their rows, and the cache that answers read them from.

import type { Author } from '../core/author.ts';
import { createCachedLookup } from '../core/cached-lookup.ts';
import { codeOf } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { PageRequest } from '../http/paging.ts';
import { audited } from '../infra/postgres/audit.ts';
import type { Fragment, Sql, Transaction } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import type { AgentRead } from './agent-schema.ts';
import { AGENT_TTL_MS, CACHED_AGENTS_MAX } from './limits.ts';

/** A model with instructions (a persona, or an autonomous agent), or a bot that answers from a list: every field with its value. */
export type AgentSettings = Omit<AgentRead, 'id' | 'name' | 'kind' | 'default' | 'created_at' | 'updated_at'>;

/** The agent of an answer; its id is undefined where none is configured. */
export type Agent = AgentSettings & { id: string | undefined; kind: AgentRead['kind'] };

/** The ids of an agent in the order in which they are tried. */
export type AgentNames = { workspaceId: string; ids: readonly string[] };

export type AgentRow = Pick<AgentRead, 'id' | 'name' | 'kind' | 'default'> & {
  settings: AgentSettings;
  createdAt: Date;
  updatedAt: Date;
};

export type AgentReference = { workspaceId: string; agentId: string };
export type AgentStore = ReturnType<typeof createAgentStore>;

/** An agent as the audit log keeps one. */
const STATE = `jsonb_build_object('name', name, 'kind', kind, 'default', is_default) || settings::jsonb`;

const audit = (
  sql: Transaction,
  author: Author,
  { change, ...states }: { change: 'put' | 'delete'; before?: Fragment; after?: Fragment },
) =>
  audited(sql, author, {
    action: `chat.${change}-agent`,
    workspace: sql`workspace_id`,
    kind: 'agent',
    id: sql`id`,
    ...states,
  });

export function createAgentStore(sql: Sql) {
  const columns = sql`id, name, kind, is_default AS "default", settings, created_at AS "createdAt",
    updated_at AS "updatedAt"`;
  return {
    /** Newest first, one row more than the limit where others follow. */
    list(workspaceId: string, { limit, after }: PageRequest): Promise<AgentRow[]> {
      return sql<AgentRow[]>`
        SELECT ${columns} FROM chat_agents
        WHERE workspace_id = ${workspaceId}
          AND ${after === undefined ? sql`true` : sql`(created_at, id) < (${after.createdAt}, ${after.id})`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    async find({ workspaceId, agentId }: AgentReference): Promise<AgentRow | undefined> {
      const [row] = await sql<AgentRow[]>`
        SELECT ${columns} FROM chat_agents WHERE workspace_id = ${workspaceId} AND id = ${agentId}`;
      return row;
    },

    /** The first of the ids that is an agent's, else the workspace's default. */
    async select({ workspaceId, ids }: AgentNames): Promise<Agent | undefined> {
      const [row] = await sql<AgentRow[]>`
        SELECT ${columns} FROM chat_agents
        WHERE workspace_id = ${workspaceId} AND (id = ANY (${[...ids]}::text[]) OR is_default)
        ORDER BY array_position(${[...ids]}::text[], id::text) NULLS LAST LIMIT 1`;
      return row && { id: row.id, kind: row.kind, ...row.settings };
    },

    /** Undefined where there is no such workspace. */
    async put(
      { workspaceId, agentId: id }: AgentReference,
      author: Author,
      { name, kind, default: isDefault, settings }: Omit<AgentRow, 'id' | 'createdAt' | 'updatedAt'>,
    ): Promise<AgentRow | undefined> {
      try {
        return await sql.begin(async (tx) => {
          // Two that are made the default at once take turns.
          await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`chat-agents:${workspaceId}`}, 0))`;
          if (isDefault)
            await tx`
              UPDATE chat_agents SET is_default = false WHERE workspace_id = ${workspaceId} AND is_default AND id <> ${id}
              RETURNING ${audit(tx, author, {
                change: 'put',
                before: tx`'{"default": true}'::jsonb`,
                after: tx`'{"default": false}'::jsonb`,
              })}`;
          const before = tx`(
            SELECT ${tx.unsafe(STATE)} FROM chat_agents WHERE workspace_id = ${workspaceId} AND id = ${id})`;
          const [row] = await tx<AgentRow[]>`
            INSERT INTO chat_agents (workspace_id, id, name, kind, is_default, settings)
            VALUES (${workspaceId}, ${id}, ${name}, ${kind}, ${isDefault}, ${JSON.stringify(settings)}::text::json)
            ON CONFLICT (workspace_id, id) DO UPDATE SET name = excluded.name, kind = excluded.kind,
              is_default = excluded.is_default, settings = excluded.settings, updated_at = now()
            RETURNING ${columns}, ${audit(tx, author, { change: 'put', before, after: tx.unsafe(STATE) })}`;
          return row;
        });
      } catch (error) {
        if (isForeignKeyViolation(error)) return undefined;
        throw error;
      }
    },

    /** False where there is no such agent. */
    async delete({ workspaceId, agentId }: AgentReference, author: Author): Promise<boolean> {
      const rows = await sql`
        DELETE FROM chat_agents WHERE workspace_id = ${workspaceId} AND id = ${agentId}
        RETURNING ${audit(sql, author, { change: 'delete', before: sql.unsafe(STATE) })}`;
      return rows.length > 0;
    },
  };
}

export type AgentCache = ReturnType<typeof createAgentCache>;

/** Agents by the names that questions give; a change in any process drops them all. */
export function createAgentCache(
  store: AgentStore,
  invalidation: Pick<Invalidation, 'subscribe' | 'connected'>,
) {
  const cached = createCachedLookup<Agent>({
    load: (key) => store.select(parseJson(key) as AgentNames),
    ttlMs: AGENT_TTL_MS,
    entriesMax: CACHED_AGENTS_MAX,
    usable: invalidation.connected,
  });
  invalidation.subscribe('chat-agents', cached.reset, cached.reset);
  return {
    /** The agent of the first name that is one's, else the workspace's default. */
    find: (names: AgentNames) => cached.get(JSON.stringify(names)),
    reset: cached.reset,
  };
}

/** PostgreSQL's error 23503 (manual, appendix A). */
const isForeignKeyViolation = (error: unknown): boolean => codeOf(error) === '23503';
