import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { AgentPage, AgentPath, AgentRead, AgentWrite } from '../agent-schema.ts';
import { AGENT_EXAMPLE, AGENT_WRITE_EXAMPLE } from '../examples.ts';
import type { createAgents } from '../operations/agents.ts';

const ADMINISTRATION = { area: 'chat', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/agents';
const ITEM = `${COLLECTION}/{agent_id}`;
const AGENT = { schema: AgentRead, example: AGENT_EXAMPLE };

const toReference = (path: { workspace_id: string; agent_id: string }) => ({
  workspaceId: path.workspace_id,
  agentId: path.agent_id,
});

export function agentRoutes(agents: ReturnType<typeof createAgents>): Route[] {
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
      ({ path, query }) =>
        agents.list(
          path.workspace_id,
          toPageRequest(query, (id) => id !== ''),
        ),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'chat.read-agent',
        method: 'GET',
        path: ITEM,
        summary: 'An agent',
        parameters: AgentPath,
        responses: { 200: { description: 'The agent.', ...AGENT } },
        refusals: [404],
      },
      ({ path }) => agents.read(toReference(path)),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'chat.put-agent',
        method: 'PUT',
        path: ITEM,
        summary: 'Create or replace an agent',
        description: 'A session whose `agi_id` is its id, else one whose `persona_id` is, is answered by it.',
        parameters: AgentPath,
        body: AgentWrite,
        bodyExample: AGENT_WRITE_EXAMPLE,
        responses: { 200: { description: 'The agent.', ...AGENT } },
        refusals: [404],
      },
      ({ path, body }) => agents.put(toReference(path), body),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'chat.delete-agent',
        method: 'DELETE',
        path: ITEM,
        summary: 'Delete an agent',
        description: "Its sessions go on with the workspace's default.",
        parameters: AgentPath,
        responses: { 204: { description: 'Deleted; no content.' } },
        refusals: [404],
      },
      ({ path }) => agents.delete(toReference(path)),
    ),
  ];
}
