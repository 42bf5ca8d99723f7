// The calls of the object store, by the SDK of S3.

import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { DISK_FAULT_HEADER } from '../../core/disk-fault.ts';
import { unavailable } from '../../core/errors.ts';
import { headersOfBucket } from './bucket-headers.ts';
import { traceCalls } from './call-spans.ts';
import type { FormProfile } from './form-profiles.ts';
import { createSdkClient, type SigningIdentity } from './sdk-client.ts';
import { encodeUriPath } from './signature-v4.ts';
import type { ListedObject, Removal, StoredObject } from './stored-object.ts';

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

export type ObjectStoreOptions = SigningIdentity & {
  endpoint: string;
  /** The origin that clients reach. */
  publicEndpoint: string;
  formProfile: FormProfile;
};

/**
 * Calls that fail because the store is down, slow or refuses us throw `unavailable`; a missing
 * object is an ordinary answer.
 */
export function createObjectCalls(options: ObjectStoreOptions) {
  const { bucket } = options;
  const client = createSdkClient(options, options.endpoint);
  traceCalls(client, bucket);
  const within = (timeoutMs: number) => ({ abortSignal: AbortSignal.timeout(timeoutMs) });

  return {
    /** Resolves to whether the bucket was absent and has been made. */
    async ensureBucket(): Promise<boolean> {
      try {
        await client.send(new HeadBucketCommand({ Bucket: bucket }), within(CALL_TIMEOUT_MS));
        return false;
      } catch (error) {
        // The answer to HEAD has no body that would say why.
        if (statusOf(error) === 403)
          throw failure(new Error('it refuses the credentials, or the bucket (403)'));
        if (statusOf(error) !== 404) throw failure(error);
        try {
          await client.send(new CreateBucketCommand({ Bucket: bucket }), within(CALL_TIMEOUT_MS));
          return true;
        } catch (refusal) {
          if (isNamed(refusal, 'BucketAlreadyOwnedByYou')) return false;
          throw failure(refusal);
        }
      }
    },

    /** Why the embedded store takes no uploads at the moment: what its disk does. Throws when the bucket can't be reached. */
    async check(): Promise<string | undefined> {
      return (await headersOfBucket(client, bucket, within(CHECK_TIMEOUT_MS)).catch(fail))[DISK_FAULT_HEADER];
    },

    /** The time by the store's own clock, in whole seconds: the times of its objects come from that clock. */
    async now(): Promise<Date> {
      const { date } = await headersOfBucket(client, bucket, within(CALL_TIMEOUT_MS)).catch(fail);
      if (date === undefined) throw failure(new Error('it does not say its time'));
      return new Date(date);
    },

    async head(key: string): Promise<StoredObject | undefined> {
      try {
        const found = await client.send(
          new HeadObjectCommand({ Bucket: bucket, Key: key }),
          within(CALL_TIMEOUT_MS),
        );
        const { VersionId: version } = found;
        return {
          size: found.ContentLength ?? 0,
          etag: found.ETag ?? '',
          modifiedAt: found.LastModified ?? new Date(0),
          contentType: found.ContentType ?? '',
          // `null` is whatever was written while versions were off.
          version: version === 'null' ? undefined : version,
        };
      } catch (error) {
        if (statusOf(error) === 404) return undefined;
        throw failure(error);
      }
    },

    /**
     * Copies inside the bucket, provided that the source still has the ETag of `source`, and says what the copy is;
     * `refused`: the store has no such keys.
     */
    async copy(options: {
      from: string;
      to: string;
      source: Pick<StoredObject, 'etag' | 'size'>;
      contentType: string;
    }): Promise<'copied' | 'changed' | 'missing' | 'refused'> {
      const { from, to, source, contentType } = options;
      const command = new CopyObjectCommand({
        Bucket: bucket,
        Key: to,
        CopySource: `${bucket}/${encodeUriPath(from)}`,
        CopySourceIfMatch: source.etag,
        MetadataDirective: 'REPLACE',
        ContentType: contentType,
      });
      try {
        const answer = await client.send(
          command,
          within(CALL_TIMEOUT_MS + (source.size / COPY_BYTES_PER_SECOND_MIN) * 1000),
        );
        // Something in between may answer 200 without a copy; the caller removes the source next.
        if (answer.CopyObjectResult?.ETag === undefined) throw new Error('the answer names no copy');
        return 'copied';
      } catch (error) {
        if (statusOf(error) === 404) return 'missing';
        if (statusOf(error) === 412) return 'changed';
        if (error instanceof Error && REFUSED_KEY.test(error.name)) return 'refused';
        throw failure(error);
      }
    },

    async putEmpty(key: string): Promise<void> {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: new Uint8Array(),
        ContentLength: 0,
      });
      await client.send(command, within(CALL_TIMEOUT_MS)).catch(fail);
    },

    /**
     * Deletes up to 1,000 objects; absent ones, and those that fail their condition, count as deleted. Returns the keys
     * that could not be, with the reason.
     */
    async remove(removals: readonly Removal[]): Promise<Map<string, string>> {
      if (removals.length === 0) return new Map();
      const command = new DeleteObjectsCommand({
        Bucket: bucket,
        Delete: {
          Objects: removals.map(({ key, version, etag }) => ({ Key: key, VersionId: version, ETag: etag })),
          Quiet: true,
        },
      });
      const answer = await client.send(command, within(CALL_TIMEOUT_MS)).catch(fail);
      const refused = (answer.Errors ?? []).filter(({ Code }) => !SETTLED.has(Code ?? ''));
      return new Map(refused.map((entry) => [entry.Key ?? '', entry.Code ?? 'unknown']));
    },

    /** Deletes one object at once, provided that it still has the ETag, where the store heeds that (not MinIO). */
    async removeUnchanged(key: string, etag: string): Promise<void> {
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag });
      await client.send(command, within(REMOVAL_TIMEOUT_MS)).catch((error: unknown) => {
        if (statusOf(error) !== 404 && statusOf(error) !== 412) throw failure(error);
      });
    },

    /** All keys below the prefix, in pages of up to 1,000. */
    async *list(prefix: string): AsyncGenerator<ListedObject[]> {
      let continuation: string | undefined;
      do {
        const command = new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ...(continuation === undefined ? {} : { ContinuationToken: continuation }),
        });
        const page = await client.send(command, within(CALL_TIMEOUT_MS)).catch(fail);
        yield (page.Contents ?? []).map((item) => ({
          key: item.Key ?? '',
          size: item.Size ?? 0,
          etag: item.ETag,
          lastModified: item.LastModified ?? new Date(),
        }));
        continuation = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (continuation !== undefined);
    },

    close: (): void => client.destroy(),
  };
}

const statusOf = (error: unknown): number | undefined =>
  error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;

const isNamed = (error: unknown, name: string): boolean => error instanceof Error && error.name === name;

/** The caller learns that the store failed; which store, and how, is for the log. */
const failure = (error: unknown) => unavailable('The object store cannot be reached', { cause: error });

const fail = (error: unknown): never => {
  throw failure(error);
};
