import { SERVICE } from '../core/author.ts';
import type { Clock } from '../core/clock.ts';
import { newId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { SCOPES } from '../core/principal.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { createKeyText, hashSecret, isKeyText, shownPrefix } from './key-text.ts';
import { createLink } from './sessions.ts';
import { createKeyStore, type NewKey } from './store/keys.ts';
import { createSessionStore } from './store/sessions.ts';
import { administratorOf, isReservedWorkspaceName, isWorkspaceName } from './workspace-names.ts';
import { createWorkspaceStore } from './workspaces.ts';

/**
 * The first workspace. `key`: the text of its key. Without one, a key is generated, and `keep` is called with it before the
 * commit, so that a crash leaves no workspace whose key is unknown.
 */
export type BootstrapRequest = {
  workspace: string;
  key?: string | undefined;
  keep?: ((key: string) => void) | undefined;
};

/** `key`: the generated key; `link`: the secret of a one-time link to the portal with its rights. Both are shown nowhere again. */
export type BootstrapOutcome = { workspace: string; key: string | undefined; link: string | undefined };

/**
 * Creates the workspace, its administrator and a key with every scope where they are absent; processes may do so
 * concurrently. Without a given key, one is generated only when the workspace is created. A given key that was revoked
 * stays revoked. Throws an Error of one sentence for an invalid name or key.
 */
export function createBootstrap({ sql, clock, log }: { sql: Sql; clock: Clock; log: Logger }) {
  return async ({ workspace, key: given, keep }: BootstrapRequest): Promise<BootstrapOutcome> => {
    refuseImpossible({ workspace, key: given });
    const text = given ?? createKeyText();
    const created = await sql.begin(async (transaction) => {
      const createdAt = clock.now();
      const workspaces = createWorkspaceStore(transaction);
      if (isReservedWorkspaceName(workspace) && !(await workspaces.exists(workspace)))
        throw new Error(`The workspace name ${workspace} is reserved`);
      const made = await workspaces.insert({ id: workspace, name: workspace, createdAt }, SERVICE);
      const key = toBootstrapKey(workspace, text, createdAt);
      if (made !== undefined || given !== undefined) await createKeyStore(transaction).insert(key);
      if (made === undefined || given !== undefined) return { made, key: undefined, link: undefined };
      const link = createLink(key.id, createdAt);
      await createSessionStore(transaction).insertLink(link.row);
      keep?.(text);
      return { made, key: text, link: link.secret };
    });
    if (given !== undefined) await checkGiven({ workspace, key: given });
    if (created.made !== undefined)
      log.info({ workspace }, 'the first workspace, its administrator and a key were created');
    return { workspace, key: created.key, link: created.link };
  };

  async function checkGiven({ workspace, key }: { workspace: string; key: string }): Promise<void> {
    const store = createKeyStore(sql);
    const owner = await store.findWorkspace(hashSecret(key));
    if (owner !== workspace)
      throw new Error(`The bootstrap key belongs to another workspace than ${workspace}`);
    if ((await store.findLive(hashSecret(key))) === undefined)
      log.warn({ workspace }, 'the bootstrap key was revoked or disabled, and stays so');
  }
}

const toBootstrapKey = (workspaceId: string, text: string, createdAt: Date): NewKey => ({
  id: newId(),
  workspaceId,
  name: 'bootstrap',
  prefix: shownPrefix(text),
  hash: hashSecret(text),
  scopes: SCOPES,
  limits: {},
  expiresAt: null,
  createdAt,
  userEmail: administratorOf(workspaceId),
  userId: newId(),
  emitsUserEvent: false,
  author: SERVICE,
});

function refuseImpossible({ workspace, key }: BootstrapRequest): void {
  if (!isWorkspaceName(workspace))
    throw new Error(
      `The workspace name ${JSON.stringify(workspace)} is not 2 to 63 of a-z, 0-9 and - (not first)`,
    );
  if (key !== undefined && !isKeyText(key))
    throw new Error(
      'The bootstrap key is shorter than 32 characters, or starts with atr_ and its checksum is wrong',
    );
}
