import { notFound, valueError } from '../../core/errors.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { AgentPage, AgentPath, AgentRead, AgentWrite } from '../agent-schema.ts';
import { AGENT_EXAMPLE, AGENT_WRITE_EXAMPLE } from '../examples.ts';
import { HISTORY_MESSAGES_DEFAULT, HISTORY_TOKENS_DEFAULT } from '../limits.ts';
import type { AgentStore, StoredAgent } from '../store/agents.ts';

const ADMINISTRATION = { area: 'chat', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/agents';
const ITEM = { ...ADMINISTRATION, path: `${COLLECTION}/{agent_id}`, parameters: AgentPath } as const;
const AGENT = { schema: AgentRead, example: AGENT_EXAMPLE };

const toReference = (path: { workspace_id: string; agent_id: string }) => ({
  workspaceId: path.workspace_id,
  agentId: path.agent_id,
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

export type AgentRoutesDeps = {
  store: AgentStore;
  requireWorkspace(id: string): Promise<void>;
  changed(): void;
};

export function agentRoutes({ store, requireWorkspace, changed }: AgentRoutesDeps): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'chat.list-agents',
        method: 'GET',
        path: COLLECTION,
        summary: 'List the agents of a workspace, newest first',
        parameters: WorkspacePath,
        query: PageQuery,
        responses: pageAnswer('A page of agents.', AgentPage, AGENT_EXAMPLE),
        refusals: [404],
      },
      async ({ path, query }) => {
        const page = toPageRequest(query, (id) => id !== '');
        await requireWorkspace(path.workspace_id);
        return toPage(await store.list(path.workspace_id, page), page.limit, renderAgent);
      },
    ),
    route(
      {
        ...ITEM,
        id: 'chat.read-agent',
        method: 'GET',
        summary: 'An agent',
        responses: { 200: { description: 'The agent.', ...AGENT } },
        refusals: [404],
      },
      async ({ path }) => {
        const agent = await store.find(toReference(path));
        if (agent === undefined) throw agentNotFound();
        return renderAgent(agent);
      },
    ),
    route(
      {
        ...ITEM,
        id: 'chat.put-agent',
        audits: ['chat.put-agent'],
        method: 'PUT',
        summary: 'Create or replace an agent',
        description: 'A session whose `agi_id` is its id, else one whose `persona_id` is, is answered by it.',
        body: AgentWrite,
        bodyExample: AGENT_WRITE_EXAMPLE,
        responses: { 200: { description: 'The agent.', ...AGENT } },
        refusals: [404],
      },
      async ({ author, path, body }) => {
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
        const agent = await store.put(path.workspace_id, author, {
          id: path.agent_id,
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
    ),
    route(
      {
        ...ITEM,
        id: 'chat.delete-agent',
        audits: ['chat.delete-agent'],
        method: 'DELETE',
        summary: 'Delete an agent',
        description: "Its sessions go on with the workspace's default.",
        responses: { 204: { description: 'Deleted; no content.' } },
        refusals: [404],
      },
      async ({ author, path }) => {
        const deleted = await store.delete(toReference(path), author);
        changed();
        if (!deleted) throw agentNotFound();
      },
    ),
  ];
}
