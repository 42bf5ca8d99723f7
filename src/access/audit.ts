import { toEmailKey } from '../core/email.ts';
import { valueError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { type Page, type PageRequest, toPage, toPageRequest } from '../http/paging.ts';
import { readTime } from '../http/parsed.ts';
import type { AuditEntry, AuditQuery } from './schema.ts';
import type { AuditFilter, AuditRow, AuditStore } from './store/audit.ts';

export type AuditDeps = { store: AuditStore; requireWorkspace(id: string): Promise<void> };

export type Audit = ReturnType<typeof createAudit>;

/** The audit log, which is read here, and written by the statements of the changes. */
export function createAudit({ store, requireWorkspace }: AuditDeps) {
  const list = async (workspaceId: string, query: AuditQuery): Promise<Page<AuditEntry>> => {
    const page: PageRequest = toPageRequest(query, isRowId);
    return toPage(await store.list(workspaceId, page, toFilter(query)), page.limit, render);
  };
  return {
    /** Throws 404 for an unknown workspace, ValidationFailure for times that are none, or in the wrong order. */
    async ofWorkspace(workspaceId: string, query: AuditQuery): Promise<Page<AuditEntry>> {
      await requireWorkspace(workspaceId);
      return list(workspaceId, query);
    },

    ofService: (query: AuditQuery): Promise<Page<AuditEntry>> => list('', query),
  };
}

const isRowId = (text: string): boolean => /^\d{1,15}$/.test(text);

function toFilter({ action, actor, object, since, until }: AuditQuery): AuditFilter {
  const [from, to] = [readTime('since', since), readTime('until', until)];
  if (from !== undefined && to !== undefined && from > to)
    throw valueError(['query', 'until'], 'until is before since', until ?? null);
  const colon = object?.indexOf(':') ?? -1;
  return {
    action,
    ...(actor !== undefined && isUuid(actor)
      ? { keyId: actor.toLowerCase() }
      : { actor: actor && toEmailKey(actor) }),
    objectKind: colon === -1 ? object : object?.slice(0, colon),
    objectId: colon === -1 ? undefined : object?.slice(colon + 1),
    since: from === undefined ? undefined : new Date(from),
    until: to === undefined ? undefined : new Date(to),
  };
}

const render = (row: AuditRow): AuditEntry => ({
  id: String(row.id),
  created_at: row.createdAt.toISOString(),
  action: row.action,
  actor: row.actor,
  via: row.via as AuditEntry['via'],
  user_id: row.userId,
  key_id: row.keyId,
  address: row.address,
  request_id: row.requestId,
  object: { kind: row.objectKind, id: row.objectId },
  before: row.before,
  after: row.after,
});
