// What the tests of one file share: a running service, its administrator, and the people whom they ask for.

import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../support/service.ts';
import { bodyOf, type Caller, createCaller } from './caller.ts';
import { createLibrary, type Library } from './library.ts';
import { createPeople, type People } from './people.ts';

export type Setting = AsyncDisposable & {
  service: RunningService;
  url: string;
  workspace: string;
  call: Caller;
  people: People;
  /** The library of the bootstrap key, which has every scope. */
  admin: Library;
  adminKey: string;
  /** The library of the workspace to whoever sends this key. */
  libraryOf(key: string | undefined): Library;
  /** The people of another workspace, made on first use. */
  elsewhere(): Promise<{ workspace: string; people: People }>;
};

export async function startSetting(environment: Record<string, string> = {}): Promise<Setting> {
  const service = await startService({ environment });
  const call = createCaller(service.url);
  const access = { workspace: WORKSPACE, adminKey: BOOTSTRAP_KEY };
  let other: Promise<{ workspace: string; people: People }> | undefined;
  const makeElsewhere = async () => {
    const json = { id: 'elsewhere', name: 'Elsewhere' };
    const { id: workspace } = bodyOf<{ id: string }>(
      await call('POST', '/admin/api/workspaces', { key: BOOTSTRAP_KEY, json }),
      201,
    );
    return { workspace, people: createPeople(call, { workspace, adminKey: BOOTSTRAP_KEY }) };
  };
  return {
    service,
    url: service.url,
    workspace: WORKSPACE,
    call,
    people: createPeople(call, access),
    admin: createLibrary(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY }),
    adminKey: BOOTSTRAP_KEY,
    libraryOf: (key) => createLibrary(call, { workspace: WORKSPACE, key }),
    elsewhere: () => (other ??= makeElsewhere()),
    [Symbol.asyncDispose]: service[Symbol.asyncDispose],
  };
}
