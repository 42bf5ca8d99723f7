import { Type } from '@sinclair/typebox';
import { noContent, type Route, reply, route } from '../../http/operation.ts';
import { PageQuery, toPageRequest } from '../../http/paging.ts';
import { withErrors } from '../../http/schemas.ts';
import { AgentPage, AgentPath, AgentRead, AgentWrite, WorkspacePath } from '../agent-schema.ts';
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
        responses: withErrors(
          {
            200: {
              description: 'A page of agents.',
              schema: AgentPage,
              example: { items: [AGENT_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 404, 422, 503],
        ),
      },
      async ({ path, query }) =>
        reply(
          200,
          await agents.list(
            path.workspace_id,
            toPageRequest(query, (id) => id !== ''),
          ),
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
        query: Type.Object({}),
        responses: withErrors({ 200: { description: 'The agent.', ...AGENT } }, [401, 403, 404, 422, 503]),
      },
      async ({ path }) => reply(200, await agents.read(toReference(path))),
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
        query: Type.Object({}),
        body: AgentWrite,
        bodyExample: AGENT_WRITE_EXAMPLE,
        responses: withErrors(
          { 200: { description: 'The agent.', ...AGENT } },
          [401, 403, 404, 413, 415, 422, 503],
        ),
      },
      async ({ path, body }) => reply(200, await agents.put(toReference(path), body)),
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
        query: Type.Object({}),
        responses: withErrors({ 204: { description: 'Deleted; no content.' } }, [401, 403, 404, 422, 503]),
      },
      async ({ path }) => {
        await agents.delete(toReference(path));
        return noContent();
      },
    ),
  ];
}
