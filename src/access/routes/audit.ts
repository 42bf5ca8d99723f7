import { Elysia } from 'elysia';
import type { Http } from '../../http/http.ts';
import { parameters, refusals } from '../../http/input.ts';
import { pageAnswer } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import type { Audit } from '../audit.ts';
import { AUDIT_EXAMPLE } from '../examples.ts';
import { AuditPage, AuditQuery } from '../schema.ts';

const QUERY = { work: 'heavy', query: parameters(AuditQuery) } as const;
const PAGE = pageAnswer('A page of the audit log.', AuditPage, AUDIT_EXAMPLE);

export function auditRoutes({ plugin }: Http, audit: Audit) {
  return new Elysia({ name: 'access.audit', prefix: '/admin/api', tags: ['access'] })
    .use(plugin)
    .get(
      '/workspaces/:workspace_id/audit',
      ({ params, query }) => audit.ofWorkspace(params.workspace_id, query),
      {
        ...QUERY,
        key: { in: 'administration', scope: 'admin' },
        params: parameters(WorkspacePath),
        response: { ...PAGE, ...refusals(404) },
        detail: {
          operationId: 'access.list-audit',
          summary: 'Who changed what in a workspace, newest first',
          description:
            'A row is written together with its change, or neither is. The filters are combined. Rows are kept for ' +
            '`AUDIT_RETENTION_DAYS`, and no operation changes them.',
        },
      },
    )
    .get('/audit', ({ query }) => audit.ofService(query), {
      ...QUERY,
      key: { in: 'administration', scope: 'operator' },
      response: PAGE,
      detail: {
        operationId: 'access.list-service-audit',
        summary: 'Who changed what of the service as a whole, newest first',
        description:
          'Changes that concern no workspace, such as making the search index anew; otherwise as for a workspace.',
      },
    });
}
