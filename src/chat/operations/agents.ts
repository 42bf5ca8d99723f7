import { notFound, valueError } from '../../core/errors.ts';
import { type Page, type PageRequest, toPage } from '../../http/paging.ts';
import type { AgentRead, AgentWrite } from '../agent-schema.ts';
import { HISTORY_MESSAGES_DEFAULT, HISTORY_TOKENS_DEFAULT } from '../limits.ts';
import type { AgentReference, AgentStore, StoredAgent } from '../store/agents.ts';

/** An administrator's operations on agents. `changed` clears this process's cache of them. */
export function createAgents({
  store,
  requireWorkspace,
  changed,
}: {
  store: AgentStore;
  requireWorkspace(id: string): Promise<void>;
  changed(): void;
}) {
  return {
    /** Throws 404 for an unknown workspace. */
    async list(workspaceId: string, page: PageRequest): Promise<Page<AgentRead>> {
      await requireWorkspace(workspaceId);
      return toPage(await store.list(workspaceId, page), page.limit, render);
    },

    /** Throws 404. */
    async read(reference: AgentReference): Promise<AgentRead> {
      const agent = await store.find(reference);
      if (agent === undefined) throw agentNotFound();
      return render(agent);
    },

    /** Creates or replaces it. Throws ValidationFailure for a bot that cannot answer, 404 for an unknown workspace. */
    async put({ workspaceId, agentId }: AgentReference, body: AgentWrite): Promise<AgentRead> {
      const replies = body.replies ?? [];
      if (body.kind === 'bot' && replies.length === 0)
        throw valueError(['body', 'replies'], 'a bot needs at least one reply', body.replies ?? null);
      const agent = await store.put(
        { workspaceId },
        {
          id: agentId,
          name: body.name,
          kind: body.kind,
          isDefault: body.default ?? false,
          model: body.model ?? null,
          instructions: body.instructions ?? '',
          temperature: body.temperature ?? null,
          historyMessages: body.history_messages ?? HISTORY_MESSAGES_DEFAULT,
          historyTokens: body.history_tokens ?? HISTORY_TOKENS_DEFAULT,
          knowledge: body.knowledge ?? 'none',
          replies,
        },
      );
      changed();
      if (agent === undefined) throw notFound('Workspace not found');
      return render(agent);
    },

    /** Sessions that it answered go on with the workspace's default. Throws 404. */
    async delete(reference: AgentReference): Promise<void> {
      const deleted = await store.delete(reference);
      changed();
      if (!deleted) throw agentNotFound();
    },
  };
}

const agentNotFound = () => notFound('Agent not found');

const render = (agent: StoredAgent): AgentRead => ({
  id: agent.id,
  name: agent.name,
  kind: agent.kind,
  model: agent.model,
  instructions: agent.instructions,
  temperature: agent.temperature,
  history_messages: agent.historyMessages,
  history_tokens: agent.historyTokens,
  knowledge: agent.knowledge,
  replies: [...agent.replies],
  default: agent.isDefault,
  created_at: agent.createdAt.toISOString(),
  updated_at: agent.updatedAt.toISOString(),
});
