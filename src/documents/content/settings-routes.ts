import { Elysia } from 'elysia';
import { notFound } from '../../core/errors.ts';
import type { Http } from '../../http/http.ts';
import { answers, json, parameters, refusals } from '../../http/input.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import * as schema from './schema.ts';
import type { WorkspaceSettings } from './workspace-settings.ts';

const SETTINGS = {
  key: { in: 'administration', scope: 'admin' },
  params: parameters(WorkspacePath),
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
export function contentSettingsRoutes({ plugin }: Http, deps: ContentSettingsRoutesDeps) {
  const { workspaces } = deps;
  return new Elysia({ name: 'documents.content.settings-routes', tags: ['documents'] })
    .use(plugin)
    .get(
      '/admin/api/workspaces/:workspace_id/content',
      async ({ params }) => {
        await deps.requireWorkspace(params.workspace_id);
        return renderSettings(await workspaces.readsFiles(params.workspace_id));
      },
      {
        ...SETTINGS,
        response: { ...answers(settingsAnswer('The settings.')), ...refusals(404) },
        detail: {
          operationId: 'documents.content-settings',
          summary: "Whether a workspace's files are read",
        },
      },
    )
    .put(
      '/admin/api/workspaces/:workspace_id/content',
      async ({ author, params, body }) => {
        const reads = body.reading === 'on';
        if (!(await workspaces.setReadsFiles(params.workspace_id, reads, author)))
          throw notFound('Workspace not found');
        if (reads) deps.catchUp();
        return renderSettings(reads);
      },
      {
        ...SETTINGS,
        audits: ['documents.put-content-settings'],
        body: json(schema.ContentSettings, { example: schema.CONTENT_SETTINGS_EXAMPLE }),
        response: { ...answers(settingsAnswer('The settings.')), ...refusals(404) },
        detail: {
          operationId: 'documents.put-content-settings',
          summary: "Decide whether a workspace's files are read",
          description:
            'Off, files that are confirmed afterwards are not read, and texts that are kept already stay. On again, they are ' +
            'caught up with.',
        },
      },
    );
}

const renderSettings = (reads: boolean) => ({ reading: reads ? 'on' : 'off' });
