import { Elysia } from 'elysia';
import { notFound, valueError } from '../../core/errors.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { AgentPage, AgentPath, AgentRead, AgentWrite } from '../agent-schema.ts';
import type { AgentRow, AgentStore } from '../agents.ts';
import { AGENT_EXAMPLE, AGENT_WRITE_EXAMPLE } from '../examples.ts';
import { HISTORY_MESSAGES_DEFAULT, HISTORY_TOKENS_DEFAULT } from '../limits.ts';

const ADMINISTRATION = { key: { in: 'administration', scope: 'admin' } } as const;
const ITEM = { ...ADMINISTRATION, params: parameters(AgentPath) } as const;
const AGENT = { schema: AgentRead, example: AGENT_EXAMPLE };

const toReference = (params: { workspace_id: string; agent_id: string }) => ({
  workspaceId: params.workspace_id,
  agentId: params.agent_id,
});

const agentNotFound = () => notFound('Agent not found');

const renderAgent = ({ id, name, kind, settings, createdAt, updatedAt, ...row }: AgentRow): AgentRead => ({
  id,
  name,
  kind,
  ...settings,
  default: row.default,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
});

/** `changed` is called after each change, in this process. */
export const agentRoutes = (
  { plugin }: Http,
  store: AgentStore,
  requireWorkspace: (id: string) => Promise<void>,
  changed: () => void = () => undefined,
) =>
  new Elysia({
    name: 'chat.agents',
    prefix: '/admin/api/workspaces/:workspace_id/agents',
    tags: ['chat'],
  })
    .use(plugin)
    .get(
      '',
      async ({ params, query }) => {
        const page = toPageRequest(query, (id) => id !== '');
        await requireWorkspace(params.workspace_id);
        return toPage(await store.list(params.workspace_id, page), page.limit, renderAgent);
      },
      {
        ...ADMINISTRATION,
        params: parameters(WorkspacePath),
        query: parameters(PageQuery),
        response: { ...pageAnswer('A page of agents.', AgentPage, AGENT_EXAMPLE), ...refusals(404) },
        detail: { operationId: 'chat.list-agents', summary: 'List the agents of a workspace, newest first' },
      },
    )
    .get(
      '/:agent_id',
      async ({ params }) => {
        const agent = await store.find(toReference(params));
        if (agent === undefined) throw agentNotFound();
        return renderAgent(agent);
      },
      {
        ...ITEM,
        response: { 200: answer({ description: 'The agent.', ...AGENT }), ...refusals(404) },
        detail: { operationId: 'chat.read-agent', summary: 'An agent' },
      },
    )
    .put(
      '/:agent_id',
      async ({ author, params, body }) => {
        const { name, kind, default: isDefault, ...given } = body;
        const settings = {
          model: given.model ?? null,
          instructions: given.instructions ?? '',
          temperature: given.temperature ?? null,
          history_messages: given.history_messages ?? HISTORY_MESSAGES_DEFAULT,
          history_tokens: given.history_tokens ?? HISTORY_TOKENS_DEFAULT,
          knowledge: given.knowledge ?? ('none' as const),
          knowledge_only: given.knowledge_only ?? false,
          not_found_text: given.not_found_text ?? null,
          replies: given.replies ?? [],
        };
        if (kind === 'bot' && settings.replies.length === 0)
          throw valueError(['body', 'replies'], 'a bot needs at least one reply', body.replies ?? null);
        if (settings.knowledge_only && settings.knowledge === 'none')
          throw valueError(
            ['body', 'knowledge_only'],
            'an agent that answers from documents alone needs knowledge of documents',
            true,
          );
        const written = { name, kind, default: isDefault ?? false, settings };
        const agent = await store.put(toReference(params), author, written);
        changed();
        if (agent === undefined) throw notFound('Workspace not found');
        return renderAgent(agent);
      },
      {
        ...ITEM,
        audits: ['chat.put-agent'],
        body: json(AgentWrite, { example: AGENT_WRITE_EXAMPLE }),
        response: { 200: answer({ description: 'The agent.', ...AGENT }), ...refusals(404) },
        detail: {
          operationId: 'chat.put-agent',
          summary: 'Create or replace an agent',
          description:
            'A session whose `agi_id` is its id, else one whose `persona_id` is, is answered by it.',
        },
      },
    )
    .delete(
      '/:agent_id',
      async ({ author, params }) => {
        const deleted = await store.delete(toReference(params), author);
        changed();
        if (!deleted) throw agentNotFound();
      },
      {
        ...ITEM,
        audits: ['chat.delete-agent'],
        response: { 204: answer({ description: 'Deleted; no content.' }), ...refusals(404) },
        detail: {
          operationId: 'chat.delete-agent',
          summary: 'Delete an agent',
          description: "Its sessions go on with the workspace's default.",
        },
      },
    );
