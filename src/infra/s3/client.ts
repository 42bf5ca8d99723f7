// The bucket: calls by the SDK of S3, and signed forms and URLs.

import { DISK_FAULT_HEADER } from '../../core/disk-fault.ts';
import { unavailable } from '../../core/errors.ts';
import type { FormProfile } from './form-profiles.ts';
import type { Presigner } from './presign.ts';
import type { SigningIdentity } from './sdk.ts';
import { encodeUriPath } from './signature-v4.ts';

/** S3's ceiling for one listing page and one multi-delete. */
export const KEYS_PER_CALL_MAX = 1000;

/** Most calls answer in milliseconds; a copy of gigabytes on a real store does not, so its size is added. */
const CALL_TIMEOUT_MS = 10_000;
const CHECK_TIMEOUT_MS = 1500;
/** For a deletion that a caller waits for: what it does not delete is swept. */
const REMOVAL_TIMEOUT_MS = 3000;
const COPY_BYTES_PER_SECOND_MIN = 10_000_000;

/** What stores call a key that they cannot hold, each in its own way. */
const REFUSED_KEY = /KeyTooLong|InvalidObjectName|InvalidKey/;

/** Refusals to delete after which there is nothing left to do: it is gone, or has become something else. */
const SETTLED: ReadonlySet<string> = new Set(['NoSuchKey', 'NoSuchVersion', 'PreconditionFailed']);

export type StoredObject = {
  size: number;
  etag: string;
  /** By whole seconds, as HTTP tells it. */
  modifiedAt: Date;
  contentType: string;
  /** Of this write of the key and of no other; undefined where the store keeps no versions. */
  version: string | undefined;
};

export type ListedObject = { key: string; size: number; etag: string | undefined; lastModified: Date };

/**
 * An object to delete: with a version exactly that one; with an ETag only an object that has it, where the store heeds
 * such conditions (AWS S3 and the embedded one do, MinIO and Versity do not).
 */
export type Removal = { key: string; version?: string | undefined; etag?: string | undefined };

export type ObjectStore = ReturnType<typeof createObjectStore>;

/**
 * The bucket. Calls that fail because the store is down, slow or refuses us throw `unavailable`; a missing
 * object is an ordinary answer. `publicEndpoint`: the origin that clients reach.
 */
export function createObjectStore(
  options: SigningIdentity & { endpoint: string; publicEndpoint: string; formProfile: FormProfile },
) {
  const { bucket: Bucket, endpoint, publicEndpoint } = options;
  const sdk = lazily(async () => (await import('./sdk.ts')).createTracedClient(options, endpoint));
  const presignerFor = (origin: string) =>
    lazily(async () => (await import('./presign.ts')).createPresigner(options, origin, options.formProfile));
  const outer = presignerFor(publicEndpoint);
  const inner = presignerFor(endpoint);

  /** The headers of the answer to HeadBucket, which the SDK does not hand out. */
  async function headBucket(timeoutMs: number): Promise<Record<string, string>> {
    const client = await sdk();
    const { HeadBucketCommand } = await import('@aws-sdk/client-s3');
    const command = new HeadBucketCommand({ Bucket });
    let headers: Record<string, string> = {};
    command.middlewareStack.add(
      (next) => async (given) => {
        const answer = await next(given);
        ({ headers } = answer.response as { headers: Record<string, string> });
        return answer;
      },
      { step: 'deserialize' },
    );
    await client.send(command, within(timeoutMs)).catch(fail);
    return headers;
  }

  return {
    bucket: Bucket,

    /** As the presigner, for clients. */
    form: async (form: Parameters<Presigner['form']>[0]) => (await outer()).form(form),
    downloadUrl: async (url: Parameters<Presigner['downloadUrl']>[0]) => (await outer()).downloadUrl(url),
    uploadUrl: async (url: Parameters<Presigner['uploadUrl']>[0]) => (await outer()).uploadUrl(url),

    /** A URL by which another process of this machine reads an object, by the endpoint that the service itself uses. */
    readUrl: async (key: string, expiresInSeconds: number): Promise<string> =>
      (await inner()).downloadUrl({ key, fileName: 'object', expiresInSeconds, now: new Date() }),

    /** A URL by which this machine writes an object, as `readUrl`. */
    writeUrl: async (key: string, expiresInSeconds: number): Promise<string> =>
      (await inner()).uploadUrl({ key, expiresInSeconds, now: new Date() }),

    /** Resolves to whether the bucket was absent and has been made. */
    async ensureBucket(): Promise<boolean> {
      const client = await sdk();
      try {
        await client.headBucket({ Bucket }, within(CALL_TIMEOUT_MS));
        return false;
      } catch (error) {
        // The answer to HEAD has no body that would say why.
        if (statusOf(error) === 403)
          return fail(new Error('it refuses the credentials, or the bucket (403)'));
        if (statusOf(error) !== 404) return fail(error);
      }
      try {
        await client.createBucket({ Bucket }, within(CALL_TIMEOUT_MS));
        return true;
      } catch (error) {
        return nameOf(error) === 'BucketAlreadyOwnedByYou' ? false : fail(error);
      }
    },

    /** Why the embedded store takes no uploads at the moment: what its disk does. Throws when the bucket can't be reached. */
    check: async (): Promise<string | undefined> => (await headBucket(CHECK_TIMEOUT_MS))[DISK_FAULT_HEADER],

    /** The time by the store's own clock, in whole seconds: the times of its objects come from that clock. */
    async now(): Promise<Date> {
      const { date } = await headBucket(CALL_TIMEOUT_MS);
      return date === undefined ? fail(new Error('it does not say its time')) : new Date(date);
    },

    async head(key: string): Promise<StoredObject | undefined> {
      try {
        const found = await (await sdk()).headObject({ Bucket, Key: key }, within(CALL_TIMEOUT_MS));
        return {
          size: found.ContentLength ?? 0,
          etag: found.ETag ?? '',
          modifiedAt: found.LastModified ?? new Date(0),
          contentType: found.ContentType ?? '',
          // `null` is whatever was written while versions were off.
          version: found.VersionId === 'null' ? undefined : found.VersionId,
        };
      } catch (error) {
        return statusOf(error) === 404 ? undefined : fail(error);
      }
    },

    /**
     * Copies inside the bucket, provided that the source still has the ETag of `source`, and says what the copy is;
     * `refused`: the store has no such keys.
     */
    async copy({
      from,
      to,
      source,
      contentType,
    }: {
      from: string;
      to: string;
      source: Pick<StoredObject, 'etag' | 'size'>;
      contentType: string;
    }): Promise<'copied' | 'changed' | 'missing' | 'refused'> {
      const input = {
        Bucket,
        Key: to,
        CopySource: `${Bucket}/${encodeUriPath(from)}`,
        CopySourceIfMatch: source.etag,
        MetadataDirective: 'REPLACE',
        ContentType: contentType,
      } as const;
      const timeoutMs = CALL_TIMEOUT_MS + (source.size / COPY_BYTES_PER_SECOND_MIN) * 1000;
      try {
        const answer = await (await sdk()).copyObject(input, within(timeoutMs));
        // Something in between may answer 200 without a copy; the caller removes the source next.
        if (answer.CopyObjectResult?.ETag === undefined) throw new Error('the answer names no copy');
        return 'copied';
      } catch (error) {
        if (statusOf(error) === 404) return 'missing';
        if (statusOf(error) === 412) return 'changed';
        return REFUSED_KEY.test(nameOf(error)) ? 'refused' : fail(error);
      }
    },

    async putEmpty(key: string): Promise<void> {
      const input = { Bucket, Key: key, Body: new Uint8Array(), ContentLength: 0 };
      await (await sdk()).putObject(input, within(CALL_TIMEOUT_MS)).catch(fail);
    },

    /**
     * Deletes up to 1,000 objects; absent ones, and those that fail their condition, count as deleted. Returns the keys
     * that could not be, with the reason.
     */
    async remove(removals: readonly Removal[]): Promise<Map<string, string>> {
      if (removals.length === 0) return new Map();
      const Objects = removals.map(({ key, version, etag }) => ({
        Key: key,
        VersionId: version,
        ETag: etag,
      }));
      const input = { Bucket, Delete: { Objects, Quiet: true } };
      const answer = await (await sdk()).deleteObjects(input, within(CALL_TIMEOUT_MS)).catch(fail);
      const refused = (answer.Errors ?? []).filter(({ Code }) => !SETTLED.has(Code ?? ''));
      return new Map(refused.map((entry) => [entry.Key ?? '', entry.Code ?? 'unknown']));
    },

    /** Deletes one object at once, provided that it still has the ETag, where the store heeds that (not MinIO). */
    async removeUnchanged(key: string, etag: string): Promise<void> {
      try {
        const input = { Bucket, Key: key, IfMatch: etag };
        await (await sdk()).deleteObject(input, within(REMOVAL_TIMEOUT_MS));
      } catch (error) {
        if (statusOf(error) !== 404 && statusOf(error) !== 412) fail(error);
      }
    },

    /** All keys below the prefix, in pages of up to 1,000. */
    async *list(prefix: string): AsyncGenerator<ListedObject[]> {
      let token: string | undefined;
      do {
        const input = { Bucket, Prefix: prefix, ContinuationToken: token };
        const page = await (await sdk()).listObjectsV2(input, within(CALL_TIMEOUT_MS)).catch(fail);
        yield (page.Contents ?? []).map((item) => ({
          key: item.Key ?? '',
          size: item.Size ?? 0,
          etag: item.ETag,
          lastModified: item.LastModified ?? new Date(),
        }));
        token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (token !== undefined);
    },

    close: (): void =>
      void sdk
        .made()
        ?.then((client) => client.destroy())
        .catch(() => undefined),
  };
}

const within = (timeoutMs: number) => ({ abortSignal: AbortSignal.timeout(timeoutMs) });

const statusOf = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

/** The caller learns that the store failed; which store, and how, is for the log. */
const fail = (cause: unknown): never => {
  throw unavailable('The object store cannot be reached', { cause });
};

/** What `make` makes, made with the first call; one that fails is tried again. */
function lazily<Value>(make: () => Promise<Value>) {
  let made: Promise<Value> | undefined;
  const attempt = (): Promise<Value> =>
    make().catch((error: unknown) => {
      made = undefined;
      return fail(error);
    });
  return Object.assign((): Promise<Value> => (made ??= attempt()), { made: () => made });
}
