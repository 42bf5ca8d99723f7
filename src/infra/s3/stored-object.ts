// Objects of the bucket, as the calls name and describe them.

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
