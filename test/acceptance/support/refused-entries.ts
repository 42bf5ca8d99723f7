import { bodyOf, type CallOptions } from './caller.ts';
import type { Entry } from './entries.ts';
import type { Setting } from './setting.ts';

/** The entries of a request that has to be refused with 422. `{w}` stands for the workspace. */
export const createEntriesOf =
  ({ call, workspace, adminKey }: Setting) =>
  async (method: string, path: string, options: CallOptions = {}): Promise<Entry[]> => {
    const answer = await call(method, path.replace('{w}', workspace), { key: adminKey, ...options });
    return bodyOf<{ detail: Entry[] }>(answer, 422).detail;
  };
