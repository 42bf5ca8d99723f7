import { notFound } from '../../core/errors.ts';
import { type Route, route } from '../../http/operation.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import * as schema from './schema.ts';
import type { WorkspaceSettings } from './workspace-settings.ts';

const SETTINGS = {
  area: 'documents',
  credential: 'administration',
  scope: 'admin',
  path: '/admin/api/workspaces/{workspace_id}/content',
  parameters: WorkspacePath,
} as const;
const settingsAnswer = (description: string) => ({
  200: { description, schema: schema.ContentSettings, example: schema.CONTENT_SETTINGS_EXAMPLE },
});

export type ContentSettingsRoutesDeps = {
  workspaces: WorkspaceSettings;
  /** Throws 404. */
  requireWorkspace(id: string): Promise<void>;
  /** Workspaces may have documents that are to be read now. */
  catchUp(): void;
};

/** Whether the files of a workspace are read: for administrators, over HTTP and on the command line. */
export function contentSettingsRoutes(deps: ContentSettingsRoutesDeps): Route[] {
  const { workspaces } = deps;
  return [
    route(
      {
        ...SETTINGS,
        id: 'documents.content-settings',
        method: 'GET',
        summary: "Whether a workspace's files are read",
        responses: settingsAnswer('The settings.'),
        refusals: [404],
      },
      async ({ path }) => {
        await deps.requireWorkspace(path.workspace_id);
        return renderSettings(await workspaces.readsFiles(path.workspace_id));
      },
    ),
    route(
      {
        ...SETTINGS,
        id: 'documents.put-content-settings',
        audits: ['documents.put-content-settings'],
        method: 'PUT',
        summary: "Decide whether a workspace's files are read",
        description:
          'Off, files that are confirmed afterwards are not read, and texts that are kept already stay. On again, they are ' +
          'caught up with.',
        body: schema.ContentSettings,
        bodyExample: schema.CONTENT_SETTINGS_EXAMPLE,
        responses: settingsAnswer('The settings.'),
        refusals: [404],
      },
      async ({ author, path, body }) => {
        const reads = body.reading === 'on';
        if (!(await workspaces.setReadsFiles(path.workspace_id, reads, author)))
          throw notFound('Workspace not found');
        if (reads) deps.catchUp();
        return renderSettings(reads);
      },
    ),
  ];
}

const renderSettings = (reads: boolean) => ({ reading: reads ? 'on' : 'off' });
