// The objects of the store: blobs and catalogue as one. A change is visible as a whole or not at all,
// and every promise here resolves only when the change would survive a loss of power.
import { DiskHangs } from '../../core/disk-fault.ts';
import type { Blob, Blobs } from './blobs.ts';
import type { Catalogue, ObjectRow } from './catalogue.ts';
import type { DiskCalls } from './disk-calls.ts';
import { createDiskWatch } from './disk-watch.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { type ListPage, type ListQuery, readPage } from './listing.ts';

export interface StoredObject {
  readonly blob: string;
  readonly sizeBytes: number;
  /** MD5 of the content in hex, without quotes. */
  readonly etag: string;
  readonly modifiedMs: number;
  /** The version of this write; undefined for objects from before there were versions. */
  readonly version: string | undefined;
  readonly contentType: string;
}

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

  async function write(name: ObjectName, object: StoredObject): Promise<void> {
    assertBucket(name.bucket);
    const replaced = find(name);
    catalogue.atomically(() => {
      catalogue.put(name.bucket, name.key, toRow(object));
      catalogue.settle(object.blob);
      pass([replaced]);
    });
    await release([replaced]);
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
      const object = {
        blob: blob.id,
        sizeBytes: blob.sizeBytes,
        etag: (blob.digests.get('md5') ?? Buffer.alloc(0)).toString('hex'),
        modifiedMs: wholeSecond(Date.now()),
        version: newVersion(),
        contentType,
      };
      const store = async (): Promise<void> => {
        try {
          disk.assertAnswers();
          await write(name, object);
        } catch (error) {
          await discard(blob);
          throw error;
        }
      };
      await watch.noting(store());
      return object;
    },
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
        await write(target, object);
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

/** HTTP dates know no finer time, and an object has one date everywhere. */
const wholeSecond = (timeMs: number): number => timeMs - (timeMs % 1000);

/** In the catalogue. Earlier versions of the store read metadata, of which no client has any. */
interface Attributes {
  readonly headers: { readonly 'content-type': string };
  readonly metadata: Record<string, never>;
  readonly version: string | undefined;
}

export function toStoredObject(row: ObjectRow): StoredObject {
  // Written by toRow only.
  const { version, headers }: Attributes = JSON.parse(row.attributes);
  return {
    blob: row.blob,
    sizeBytes: row.size,
    etag: row.etag,
    modifiedMs: row.modified_ms,
    version,
    contentType: headers['content-type'],
  };
}

function toRow({ version, contentType, ...object }: StoredObject): ObjectRow {
  const attributes: Attributes = { headers: { 'content-type': contentType }, metadata: {}, version };
  return {
    blob: object.blob,
    size: object.sizeBytes,
    etag: object.etag,
    modified_ms: object.modifiedMs,
    attributes: JSON.stringify(attributes),
  };
}

const newVersion = (): string => crypto.randomUUID().replaceAll('-', '');
