// The bucket: forms and URLs, which are signed here, and the calls, whose library is loaded with the first of them.

import { unavailable } from '../../core/errors.ts';
import type { createObjectCalls, ObjectStoreOptions } from './calls.ts';
import { createPresigner, type Presigner } from './presign.ts';

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
  const inner = createPresigner({ ...options, publicEndpoint: options.endpoint }, options.formProfile);
  let calls: Promise<Calls> | undefined;
  const load = async (): Promise<Calls> => {
    try {
      return (await import('./calls.ts')).createObjectCalls(options);
    } catch (error) {
      calls = undefined;
      throw unavailable('The object store cannot be reached', { cause: error });
    }
  };
  const open = (): Promise<Calls> => {
    calls ??= load();
    return calls;
  };

  return {
    ...createPresigner(options, options.formProfile),
    bucket: options.bucket,

    /** A URL by which another process of this machine reads an object, by the endpoint that the service itself uses. */
    readUrl: (key: string, expiresInSeconds: number): string =>
      inner.downloadUrl({ key, fileName: 'object', expiresInSeconds, now: new Date() }),

    /** A URL by which this machine writes an object, as `readUrl`. */
    writeUrl: (key: string, expiresInSeconds: number): string =>
      inner.uploadUrl({ key, expiresInSeconds, now: new Date() }),

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
    close: () => void calls?.then((opened) => opened.close()).catch(() => undefined),
  } satisfies Presigner &
    Calls & {
      bucket: string;
      readUrl(key: string, expiresInSeconds: number): string;
      writeUrl(key: string, expiresInSeconds: number): string;
    };
}
