// A store of its own for a test file, with the clients that the service and its users have.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CopyObjectCommand,
  type CopyObjectCommandInput,
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { until } from '../../src/core/wait.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';

export const CREDENTIALS = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret-access-key' };
export const REGION = 'us-east-1';
export const BUCKET = 'test-bucket';

export interface TestStore extends AsyncDisposable, Calls {
  readonly endpoint: string;
  readonly directory: string;
  readonly client: S3Client;
}

type Calls = ReturnType<typeof callsBy>;
type Options = Omit<Partial<PutObjectCommandInput>, 'Body'>;

/** The operations on the objects of the bucket. */
export function callsBy(client: S3Client) {
  const get = (Key: string) => client.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
  return {
    createBucket: () => client.send(new CreateBucketCommand({ Bucket: BUCKET })),
    put: (Key: string, Body: NonNullable<PutObjectCommandInput['Body']>, options: Options = {}) =>
      client.send(new PutObjectCommand({ ...options, Bucket: BUCKET, Key, Body })),
    get,
    text: async (Key: string): Promise<string> => (await (await get(Key)).Body?.transformToString()) ?? '',
    head: (Key: string) => client.send(new HeadObjectCommand({ Bucket: BUCKET, Key })),
    copy: (from: string, Key: string, options: Partial<CopyObjectCommandInput> = {}) => {
      const CopySource = `${BUCKET}/${encodeURIComponent(from)}`;
      const copy = { Bucket: BUCKET, Key, CopySource, MetadataDirective: 'REPLACE' } as const;
      return client.send(new CopyObjectCommand({ ...copy, ...options }));
    },
    remove: (Key: string) => client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key })),
  };
}

export function createClient(endpoint: string, options: { secretAccessKey?: string; skewMs?: number } = {}) {
  return new S3Client({
    endpoint,
    region: REGION,
    forcePathStyle: true,
    credentials: { ...CREDENTIALS, secretAccessKey: options.secretAccessKey ?? CREDENTIALS.secretAccessKey },
    systemClockOffset: options.skewMs ?? 0,
    maxAttempts: 1,
  });
}

export function storeOptions(directory: string) {
  return {
    directory,
    host: '127.0.0.1',
    port: 0,
    region: REGION,
    bucket: BUCKET,
    corsOrigins: [],
    ...CREDENTIALS,
  };
}

/** A store that reports a failure of its own fails the test. */
const LOG = {
  error: (fields: object, message: string) => {
    throw new Error(`${message}: ${JSON.stringify(fields)}`);
  },
};

export function startStore(options: Parameters<typeof startObjectStore>[0]) {
  return startObjectStore(options, LOG);
}

export function createDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'object-store-'));
}

/** A fresh store with one bucket; its thread and its directory are gone when it is disposed of. */
export async function startTestStore(corsOrigins: readonly string[] = []): Promise<TestStore> {
  const directory = await createDirectory();
  const store = await startStore({ ...storeOptions(directory), corsOrigins });
  const client = createClient(store.endpoint);
  const calls = callsBy(client);
  await calls.createBucket();
  return {
    ...calls,
    endpoint: store.endpoint,
    directory,
    client,
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export interface Connection {
  readonly socket: Socket;
  /** All that came back. */
  answer(): string;
  isClosed(): boolean;
}

/** Opens a connection of its own and sends the bytes. */
export function connect({ endpoint }: Pick<TestStore, 'endpoint'>, bytes = ''): Connection {
  const { hostname, port } = new URL(endpoint);
  const socket = createConnection({ host: hostname, port: Number(port) });
  let received = '';
  let closed = false;
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closed = true;
  });
  if (bytes !== '') socket.write(bytes);
  return { socket, answer: () => received, isClosed: () => closed };
}

/** How many files the store has: whole ones, and those of uploads under way. */
export async function countFiles(directory: string): Promise<number> {
  return (await readdir(join(directory, 'blobs'))).length;
}

/** Polls until the condition holds; fails after a minute. */
export async function waitFor(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await until(condition, { everyMs: 5, timeoutMs: 60_000 })))
    throw new Error(`in vain waited for: ${what}`);
}

/** The S3 code and the status that a command is refused with. */
export async function refusal(work: Promise<unknown>): Promise<[code: string, status: number | undefined]> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof S3ServiceException)) throw new Error(`not refused by the store: ${String(error)}`);
  return [error.name, error.$metadata.httpStatusCode];
}

/** The code in an XML error document, with the status. */
export async function errorOf(response: Response): Promise<[code: string | undefined, status: number]> {
  return [/<Code>(\w+)<\/Code>/.exec(await response.text())?.[1], response.status];
}
