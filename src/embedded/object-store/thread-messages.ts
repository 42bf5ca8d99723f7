// The calls of the store's thread, and its settings.

export interface ObjectStoreOptions {
  /** Everything the store keeps lives here (mode 0700); created when absent. One store at a time. */
  readonly directory: string;
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  readonly region: string;
  /** A bucket that is there when the store listens; created where it is absent. */
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Exact origins, or `*`. */
  readonly corsOrigins: readonly string[];
  /** For how long a file that the catalogue does not name is kept aside. */
  readonly retentionSeconds: number;
}

/** An object that comes without a request. */
export interface GivenObject {
  readonly key: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

export type StoreCalls = {
  /** Keeps objects of differing keys in the bucket of the settings; answers when all of them are on the disk. */
  keep(objects: readonly GivenObject[]): void;
  /** Lets running requests finish for a bounded time. */
  close(): void;
};

export type StoreNotice =
  /** A request failed for a reason of the store's own. */
  | { readonly type: 'fault'; readonly reason: string }
  /** A harmless event that concerns an operator. */
  | { readonly type: 'notice'; readonly sentence: string };
