import { Elysia } from 'elysia';
import { notFound, valueError } from '../../core/errors.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { AgentPage, AgentPath, AgentRead, AgentWrite } from '../agent-schema.ts';
import type { AgentStore, StoredAgent } from '../agents.ts';
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

const renderAgent = (agent: StoredAgent): AgentRead => ({
  id: agent.id,
  name: agent.name,
  kind: agent.kind,
  model: agent.model,
  instructions: agent.instructions,
  temperature: agent.temperature,
  history_messages: agent.historyMessages,
  history_tokens: agent.historyTokens,
  knowledge: agent.knowledge,
  knowledge_only: agent.knowledgeOnly,
  not_found_text: agent.notFoundText,
  replies: [...agent.replies],
  default: agent.isDefault,
  created_at: agent.createdAt.toISOString(),
  updated_at: agent.updatedAt.toISOString(),
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
        const replies = body.replies ?? [];
        if (body.kind === 'bot' && replies.length === 0)
          throw valueError(['body', 'replies'], 'a bot needs at least one reply', body.replies ?? null);
        const knowledge = body.knowledge ?? 'none';
        if (body.knowledge_only === true && knowledge === 'none')
          throw valueError(
            ['body', 'knowledge_only'],
            'an agent that answers from documents alone needs knowledge of documents',
            true,
          );
        const agent = await store.put(params.workspace_id, author, {
          id: params.agent_id,
          name: body.name,
          kind: body.kind,
          isDefault: body.default ?? false,
          model: body.model ?? null,
          instructions: body.instructions ?? '',
          temperature: body.temperature ?? null,
          historyMessages: body.history_messages ?? HISTORY_MESSAGES_DEFAULT,
          historyTokens: body.history_tokens ?? HISTORY_TOKENS_DEFAULT,
          knowledge,
          knowledgeOnly: body.knowledge_only ?? false,
          notFoundText: body.not_found_text ?? null,
          replies,
        });
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
