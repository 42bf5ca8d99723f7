// The messages between the store's thread and the thread that started it.

export interface ObjectStoreOptions {
  /** Everything the store keeps lives here (mode 0700); created when absent. One store at a time. */
  readonly directory: string;
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Exact origins, or `*`. */
  readonly corsOrigins: readonly string[];
  /** For how long a file that the catalogue does not name is kept aside. */
  readonly retentionSeconds: number;
}

export type ThreadMessage =
  | { readonly type: 'start'; readonly options: ObjectStoreOptions }
  | { readonly type: 'close' };

export type StoreMessage =
  | { readonly type: 'listening'; readonly port: number }
  /** Could not start, or could not close in order. */
  | { readonly type: 'failed'; readonly reason: string }
  /** A request failed for a reason of the store's own. */
  | { readonly type: 'fault'; readonly reason: string }
  /** A harmless event that concerns an operator. */
  | { readonly type: 'notice'; readonly sentence: string }
  | { readonly type: 'closed' };
