import { type Route, route } from '../../http/operation.ts';
import { pageAnswer } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import type { Audit } from '../audit.ts';
import { AUDIT_EXAMPLE } from '../examples.ts';
import { AuditPage, AuditQuery } from '../schema.ts';

const ADMINISTRATION = { area: 'access', credential: 'administration', query: AuditQuery } as const;
const ANSWER = pageAnswer('A page of the audit log.', AuditPage, AUDIT_EXAMPLE);

export function auditRoutes(audit: Audit): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'access.list-audit',
        work: 'heavy',
        method: 'GET',
        path: '/admin/api/workspaces/{workspace_id}/audit',
        scope: 'admin',
        summary: 'Who changed what in a workspace, newest first',
        description:
          'A row is written together with its change, or neither is. The filters are combined. Rows are kept for ' +
          '`AUDIT_RETENTION_DAYS`, and no operation changes them.',
        parameters: WorkspacePath,
        responses: ANSWER,
        refusals: [404],
      },
      ({ path, query }) => audit.ofWorkspace(path.workspace_id, query),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.list-service-audit',
        work: 'heavy',
        method: 'GET',
        path: '/admin/api/audit',
        scope: 'operator',
        summary: 'Who changed what of the service as a whole, newest first',
        description:
          'Changes that concern no workspace, such as making the search index anew; otherwise as for a workspace.',
        responses: ANSWER,
      },
      ({ query }) => audit.ofService(query),
    ),
  ];
}
