// The objects of the store: blobs and catalogue as one. A change is visible as a whole or not at all,
// and every promise here resolves only when the change would survive a loss of power.
import { DiskHangs } from '../../core/disk-fault.ts';
import type { Blob, Blobs } from './blobs.ts';
import type { Catalogue } from './catalogue.ts';
import { parseContentType } from './content-headers.ts';
import type { DiskCalls } from './disk-calls.ts';
import { createDiskWatch } from './disk-watch.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { type ListPage, type ListQuery, readPage } from './listing.ts';
import { assertKey } from './names.ts';
import {
  newVersion,
  type StoredObject,
  toNewObject,
  toRow,
  toStoredObject,
  wholeSecond,
} from './stored-object.ts';
import type { GivenObject } from './thread-messages.ts';

/** The object to delete: any under the name, or only that version, or only that ETag (without quotes). */
export interface Removal {
  readonly key: string;
  readonly version?: string;
  readonly etag?: string;
}

export interface ObjectName {
  readonly bucket: string;
  readonly key: string;
}

export type Objects = ReturnType<typeof createObjects>;

/**
 * The store over the checked parts from opening (store.ts). On a disk that hangs each change rejects with `DiskHangs` in time;
 * it may be made nevertheless. The catalogue is written on this thread, so nothing is written there before the disk has taken
 * a write beside it.
 */
export function createObjects(parts: { catalogue: Catalogue; blobs: Blobs; disk: DiskCalls }) {
  const { catalogue, blobs, disk } = parts;
  function find({ bucket, key }: ObjectName): StoredObject | undefined {
    const row = catalogue.find(bucket, key);
    return row === undefined ? undefined : toStoredObject(row);
  }

  /** Throws NoSuchBucket. */
  function assertBucket(bucket: string): void {
    if (!catalogue.hasBucket(bucket)) throw new S3Error('NoSuchBucket', { details: { BucketName: bucket } });
  }

  /** Throws NoSuchBucket, NoSuchKey. */
  function get(name: ObjectName): StoredObject {
    assertBucket(name.bucket);
    const object = find(name);
    if (object === undefined) throw new S3Error('NoSuchKey', { details: { Key: name.key } });
    return object;
  }

  /** Only after the change is durable: until then a crash could bring the old name back. */
  async function release(replaced: readonly (StoredObject | undefined)[]): Promise<void> {
    await catalogue.durable();
    const gone: string[] = [];
    for (const blob of blobsOf(replaced)) {
      if (!catalogue.isNamed(blob) && (await blobs.remove(blob))) gone.push(blob);
    }
    if (gone.length > 0) catalogue.atomically(() => gone.forEach(catalogue.settle));
  }

  /** In the commit that takes their names: a crash before they are removed leaves files whose state is known. */
  function pass(replaced: readonly (StoredObject | undefined)[]): void {
    for (const blob of blobsOf(replaced)) if (!catalogue.isNamed(blob)) catalogue.pass(blob);
  }

  /** Of differing names in one bucket, in one commit. */
  async function write(...named: readonly (readonly [ObjectName, StoredObject])[]): Promise<void> {
    for (const [{ bucket }] of named.slice(0, 1)) assertBucket(bucket);
    const replaced = named.map(([name]) => find(name));
    catalogue.atomically(() => {
      for (const [{ bucket, key }, object] of named) {
        catalogue.put(bucket, key, toRow(object));
        catalogue.settle(object.blob);
      }
      pass(replaced);
    });
    await release(replaced);
  }

  const watch = createDiskWatch({ catalogue, blobs, disk });

  /** A blob without a name: where it cannot be removed, the next start does it. */
  async function discard({ id }: Blob): Promise<void> {
    if (!catalogue.isNamed(id) && (await blobs.remove(id))) catalogue.settle(id);
  }

  /** Makes a change once the disk has taken a write, unless another call hangs since. */
  const change = <Result>(make: () => Promise<Result>): Promise<Result> =>
    watch.noting(
      blobs.tryWrite().then(() => {
        disk.assertAnswers();
        return make();
      }),
    );

  return {
    createBucket: (bucket: string): Promise<void> =>
      change(async () => {
        catalogue.createBucket(bucket, Date.now());
        await catalogue.durable();
      }),
    hasBucket: catalogue.hasBucket,
    assertBucket,
    get,
    /**
     * A descriptor of the bytes, which the caller closes; they stay as they are when the object is replaced.
     * To be called in the same turn of the event loop as get, before a replacement can remove them.
     */
    openContent: (object: StoredObject): number => blobs.open(object.blob),
    receive: async (options: Parameters<Blobs['receive']>[0]): Promise<Blob> => {
      const receiving = blobs.receive(options, catalogue.pass);
      try {
        return await watch.noting(receiving);
      } catch (error) {
        if (error instanceof DiskHangs) receiving.then(discard).catch(() => undefined);
        throw error;
      }
    },
    /** Gives the blob a name; where that fails, the blob is removed. */
    put: async (name: ObjectName, blob: Blob, contentType: string): Promise<StoredObject> => {
      const object = toNewObject(blob, contentType);
      const store = async (): Promise<void> => {
        try {
          disk.assertAnswers();
          await write([name, object]);
        } catch (error) {
          await discard(blob);
          throw error;
        }
      };
      await watch.noting(store());
      return object;
    },
    /** Receives and names objects of differing keys together: they share the flushes of the disk. */
    keep: (bucket: string, given: readonly GivenObject[]): Promise<void> =>
      change(async () => {
        assertBucket(bucket);
        const valid = given.map(({ contentType, ...each }) => {
          assertKey(each.key);
          return { ...each, contentType: parseContentType(contentType) };
        });
        const received = await blobs.receiveAll(valid, async (ids) => {
          catalogue.atomically(() => ids.forEach(catalogue.pass));
          // So many files without a name have to be explained after a loss of power, too.
          await catalogue.durable();
        });
        try {
          await write(
            ...received.map(
              ({ given: { key, contentType }, blob }) =>
                [{ bucket, key }, toNewObject(blob, contentType)] as const,
            ),
          );
        } catch (error) {
          for (const { blob } of received) await discard(blob);
          throw error;
        }
      }),
    /** Copies no bytes: both names share the blob. `assertMeant` sees the source as it is when the copy is made, and may throw. */
    copy: (
      source: ObjectName,
      target: ObjectName,
      { contentType, assertMeant }: { contentType: string; assertMeant: (source: StoredObject) => void },
    ): Promise<StoredObject> =>
      change(async () => {
        const found = get(source);
        assertMeant(found);
        const written = { modifiedMs: wholeSecond(Date.now()), version: newVersion(), contentType };
        const object = { ...found, ...written };
        await write([target, object]);
        return object;
      }),
    /** Names that hold nothing, or another version, are no error. Returns the keys that hold something with another ETag, which stay. */
    remove: (bucket: string, removals: readonly Removal[]): Promise<string[]> =>
      change(async () => {
        assertBucket(bucket);
        const named = removals.map((removal) => ({ ...removal, object: find({ bucket, key: removal.key }) }));
        const meant = named.filter(
          ({ object, version }) =>
            object !== undefined && (version === undefined || version === object.version),
        );
        const refused = meant.filter(({ object, etag }) => etag !== undefined && etag !== object?.etag);
        const removed = meant.filter((each) => !refused.includes(each));
        catalogue.atomically(() => {
          for (const { key } of removed) catalogue.delete(bucket, key);
          pass(removed.map(({ object }) => object));
        });
        await release(removed.map(({ object }) => object));
        return refused.map(({ key }) => key);
      }),
    /** Up to limits.listKeysMax objects. */
    list: (bucket: string, query: ListQuery): ListPage => {
      assertBucket(bucket);
      return readPage((range) => catalogue.range({ bucket, ...range }), query, limits.listKeysMax);
    },
    /** Why no upload can be taken at the moment; once one has failed for it, each call tries whether that is over. */
    diskFault: watch.fault,
    close: async (): Promise<void> => {
      await catalogue.close();
      await blobs.close();
    },
  };
}

const blobsOf = (objects: readonly (StoredObject | undefined)[]): Set<string> =>
  new Set(objects.flatMap((object) => (object === undefined ? [] : [object.blob])));
