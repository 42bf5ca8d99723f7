// The bucket: calls, and signed forms and URLs. The libraries of each are loaded with the first of them.

import { unavailable } from '../../core/errors.ts';
import type { createObjectCalls, ObjectStoreOptions } from './calls.ts';
import type { Presigner } from './presign.ts';

export type { ListedObject, Removal, StoredObject } from './stored-object.ts';

/** S3's ceiling for one listing page and one multi-delete. */
export const KEYS_PER_CALL_MAX = 1000;

type Calls = ReturnType<typeof createObjectCalls>;

export type ObjectStore = ReturnType<typeof createObjectStore>;

/**
 * The bucket. Calls that fail because the store is down, slow or refuses us throw `unavailable`; a missing
 * object is an ordinary answer.
 */
export function createObjectStore(options: ObjectStoreOptions) {
  const open = lazily(async (): Promise<Calls> => (await import('./calls.ts')).createObjectCalls(options));
  const presignerFor = (endpoint: string) =>
    lazily(async () =>
      (await import('./presign.ts')).createPresigner(options, endpoint, options.formProfile),
    );
  const outer = presignerFor(options.publicEndpoint);
  const inner = presignerFor(options.endpoint);

  return {
    bucket: options.bucket,

    form: async (...given) => (await outer()).form(...given),
    downloadUrl: async (...given) => (await outer()).downloadUrl(...given),
    uploadUrl: async (...given) => (await outer()).uploadUrl(...given),

    /** A URL by which another process of this machine reads an object, by the endpoint that the service itself uses. */
    readUrl: async (key: string, expiresInSeconds: number): Promise<string> =>
      (await inner()).downloadUrl({ key, fileName: 'object', expiresInSeconds, now: new Date() }),

    /** A URL by which this machine writes an object, as `readUrl`. */
    writeUrl: async (key: string, expiresInSeconds: number): Promise<string> =>
      (await inner()).uploadUrl({ key, expiresInSeconds, now: new Date() }),

    ensureBucket: async () => (await open()).ensureBucket(),
    check: async () => (await open()).check(),
    now: async () => (await open()).now(),
    head: async (...given) => (await open()).head(...given),
    copy: async (...given) => (await open()).copy(...given),
    putEmpty: async (...given) => (await open()).putEmpty(...given),
    remove: async (...given) => (await open()).remove(...given),
    removeUnchanged: async (...given) => (await open()).removeUnchanged(...given),
    async *list(prefix) {
      yield* (await open()).list(prefix);
    },
    close: () =>
      void open
        .made()
        ?.then((opened) => opened.close())
        .catch(() => undefined),
  } satisfies Presigner &
    Calls & {
      bucket: string;
      readUrl(key: string, expiresInSeconds: number): Promise<string>;
      writeUrl(key: string, expiresInSeconds: number): Promise<string>;
    };
}

/** What `make` makes, made with the first call; one that fails is tried again. */
function lazily<Value>(make: () => Promise<Value>) {
  let made: Promise<Value> | undefined;
  const attempt = (): Promise<Value> =>
    make().catch((error: unknown) => {
      made = undefined;
      throw unavailable('The object store cannot be reached', { cause: error });
    });
  return Object.assign((): Promise<Value> => (made ??= attempt()), { made: () => made });
}
