import type { Clock } from '../core/clock.ts';
import { conflict, notFound, valueError } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { type Page, type PageRequest, toPage } from '../http/paging.ts';
import { isOperator } from './operators.ts';
import type { WorkspaceCreate, WorkspaceRead } from './schema.ts';
import type { Workspace, WorkspaceStore } from './store/workspaces.ts';
import { isReservedWorkspaceName } from './workspace-names.ts';

export type Workspaces = ReturnType<typeof createWorkspaces>;

export function createWorkspaces({ store, clock }: { store: WorkspaceStore; clock: Clock }) {
  return {
    /** Operators see all workspaces, other administrators only their own. */
    async list(principal: Principal, page: PageRequest): Promise<Page<WorkspaceRead>> {
      const own = isOperator(principal) ? undefined : principal.workspaceId;
      return toPage(await store.list(page, own), page.limit, render);
    },

    /** Throws 422 for a reserved name, 409 when it is taken. */
    async create({ id, name }: WorkspaceCreate): Promise<WorkspaceRead> {
      if (isReservedWorkspaceName(id)) throw valueError(['body', 'id'], 'this name is reserved', id);
      const made = await store.insert({ id, name: name ?? id, createdAt: clock.now() });
      if (made === undefined) throw conflict('A workspace of this name exists');
      return render(made);
    },

    /** Throws 404 for a workspace that does not exist. */
    async requireExisting(id: string): Promise<void> {
      if (!(await store.exists(id))) throw notFound('Workspace not found');
    },
  };
}

const render = ({ id, name, createdAt }: Workspace): WorkspaceRead => ({
  id,
  name,
  created_at: createdAt.toISOString(),
});
