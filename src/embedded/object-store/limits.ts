// Every limit of the embedded object store. Where S3 has one, it is S3's.
import { availableParallelism } from 'node:os';

const KiB = 1024;
const MiB = 1024 * KiB;

export const limits = {
  /** UTF-8 bytes of an object key. */
  keyBytesMax: 1024,
  /** S3's largest object. The limit of a form is in its policy, not here. */
  objectBytesMax: 5 * 1024 * 1024 * MiB,
  /** Names and values of all form fields before the file. */
  formFieldsBytesMax: 20 * KiB,
  formFieldsMax: 100,
  /** All that is received before the file, the lines between the fields included. */
  formHeadBytesMax: 64 * KiB,
  /** Bodies that are read into memory: the XML of DeleteObjects. */
  documentBytesMax: 4 * MiB,
  deleteKeysMax: 1000,
  listKeysMax: 1000,

  clockSkewMsMax: 15 * 60_000,
  presignedSecondsMax: 7 * 24 * 3600,

  /** Bytes of one request in memory, before its sender waits. */
  bufferBytes: 256 * KiB,
  /** Dirty bytes of one upload before they are pushed to the disk, so that the last fsync is short. */
  unsyncedBytesMax: 64 * MiB,
  /** Received bytes between two collections: buffers lie outside the heap, where their garbage is not seen. */
  uncollectedBytesMax: 48 * MiB,

  /** Requests at once under upload forms and pre-signed URLs; the service's own, signed in their headers, do not count. */
  requestsMax: 1024,
  /** Beyond the limit, the request that has moved fewer bytes than this for the longest time gives way, if it has done so for at least this time. */
  stepBytes: 64 * KiB,
  stepMsMax: 10_000,
  /** Connections on which nothing was authorised yet: beyond it the oldest gives way. */
  strangersMax: 512,
  headerMsMax: 30_000,
  /** For the fields of a form to arrive, which say whether it is authorised. */
  formFieldsMsMax: 10_000,
  keepAliveMsMax: 120_000,
  /** Without a byte from the client. */
  uploadIdleMsMax: 60_000,
  /** Without room for a byte to the client; long, because a slow reader has megabytes in kernel buffers. */
  downloadIdleMsMax: 600_000,
  /** How much of a refused body is still read and dropped, so that its sender gets to see the answer. */
  lingerMsMax: 10_000,
  lingerBytesMax: 256 * MiB,

  /** For another process, which is just ending, to let go of the directory. */
  directoryLockMsMax: 3_000,

  /** A call of the disk that takes longer is overdue: a slow disk writes unsyncedBytesMax meanwhile. */
  diskCallMsMax: 15_000,
  /** Of at most half the threads for such calls, which Bun counts like this (`bun run start` sets the variable). */
  diskCallsMax: Math.max(
    1,
    Math.min(16, Math.floor((Number(process.env['UV_THREADPOOL_SIZE']) || availableParallelism()) / 2)),
  ),

  startMsMax: 60_000,
  /** For running requests at the end. */
  drainMsMax: 10_000,
  closeIdleEveryMs: 50,
  /** For closing files after that, before the thread is ended anyway. */
  endMsMax: 5_000,
} as const;
