// One request to the store: the bucket and key of its target, its headers as sent, and its body.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, type Writable } from 'node:stream';
import type { Admission, Authority } from './admission.ts';
import { ClientGone, S3Error } from './errors.ts';
import { limits } from './limits.ts';

export type QueryParameter = { name: string; value: string };

export class StoreRequest {
  readonly message: IncomingMessage;
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  /** '' where the target is the root. */
  readonly bucket: string;
  /** '' where the target is a bucket. */
  readonly key: string;
  /** Decoded, in the order sent. */
  readonly query: readonly QueryParameter[];
  /** Lower-case names; repeated headers joined by a comma. Bytes above 0x7f are one character each. */
  readonly headers: ReadonlyMap<string, string>;
  readonly #response: ServerResponse;
  readonly #permit: ReturnType<Admission['begin']>;
  /** Whether the client still waits for 100 Continue before it sends its body. */
  waitsForContinue: boolean;

  /**
   * Reads target and headers. The target is taken as it was sent: a URL parser would resolve `..`, which is an ordinary part of a key
   * here. Throws InvalidURI where an escape is broken or is not UTF-8.
   */
  constructor(
    message: IncomingMessage,
    options: {
      response: ServerResponse;
      permit: ReturnType<Admission['begin']>;
      /** Whether the client sends its body only after 100 Continue. */
      waits: boolean;
    },
  ) {
    const target = message.url ?? '';
    const mark = target.indexOf('?');
    this.message = message;
    this.method = message.method ?? '';
    this.path = decode(mark < 0 ? target : target.slice(0, mark));
    if (!this.path.startsWith('/')) throw new S3Error('InvalidURI');
    const slash = this.path.indexOf('/', 1);
    this.bucket = slash < 0 ? this.path.slice(1) : this.path.slice(1, slash);
    this.key = slash < 0 ? '' : this.path.slice(slash + 1);
    this.query = mark < 0 ? [] : parseQuery(target.slice(mark + 1));
    this.headers = parseHeaders(message.rawHeaders);
    this.#response = options.response;
    this.#permit = options.permit;
    this.waitsForContinue = options.waits;
  }

  parameter(name: string): string | undefined {
    return this.query.find((parameter) => parameter.name === name)?.value;
  }

  /** An x-amz-* header, which pre-signed URLs carry as a parameter instead. */
  setting(name: string): string | undefined {
    return (
      this.headers.get(name) ?? this.query.find((parameter) => parameter.name.toLowerCase() === name)?.value
    );
  }

  /** To be called once its signature has been found to hold; throws SlowDown where there is no room for it. */
  admit(authority: Authority): void {
    this.#permit.admit(authority);
  }

  /**
   * Streams the body into the sink; resolves when the sink has taken all of it and finished. Rejects with the sink's error, the
   * request then being still readable so that it can be answered; or with ClientGone, the sink then being destroyed. The socket is
   * paused while the sink is full, and cut when the client is idle.
   */
  sendBody(sink: Writable): Promise<void> {
    const { message } = this;
    const sent = Promise.withResolvers<void>();
    const onClose = () => {
      if (!message.complete) sink.destroy(new ClientGone());
    };
    const onData = (chunk: Buffer) => this.#permit.moved(chunk.length);
    message.on('close', onClose);
    message.on('error', onClose);
    // Its listeners stay: a parser may emit a second error, which must not become an uncaught one.
    finished(sink, { readable: false }, (error) => {
      message.unpipe(sink);
      message.off('data', onData);
      message.off('close', onClose);
      if (error) sent.reject(error);
      else sent.resolve();
    });
    message.socket.setTimeout(limits.uploadIdleMsMax);
    if (this.waitsForContinue) this.#response.writeContinue();
    this.waitsForContinue = false;
    if (message.destroyed && !message.complete) onClose();
    else {
      message.pipe(sink);
      message.on('data', onData);
    }
    return sent.promise;
  }
}

/**
 * Reads and drops the rest of a body, within bounds, so that a client that is still sending gets to read the answer; past the bounds the
 * connection is cut.
 */
export function dropRest(message: IncomingMessage): void {
  if (message.complete || message.destroyed) return;
  let dropped = 0;
  const timer = setTimeout(() => message.socket.destroy(), limits.lingerMsMax);
  for (const event of ['close', 'end', 'error']) message.on(event, () => clearTimeout(timer));
  message.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > limits.lingerBytesMax) message.socket.destroy();
  });
  message.resume();
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const IP_ADDRESS = /^\d+\.\d+\.\d+\.\d+$/;

/** Throws InvalidBucketName unless the name follows S3's rules. */
export function assertBucketName(bucket: string): void {
  if (!BUCKET.test(bucket) || bucket.includes('..') || IP_ADDRESS.test(bucket))
    throw new S3Error('InvalidBucketName', { details: { BucketName: bucket } });
}

/** Throws unless the key has 1 to 1024 bytes of UTF-8. Any character will do, `/`, `..` and NUL included. */
export function assertKey(key: string): void {
  if (key === '') throw new S3Error('InvalidArgument', 'User key must have a length greater than 0.');
  if (!key.isWellFormed()) throw new S3Error('InvalidArgument', 'The key is not valid Unicode.');
  const size = Buffer.byteLength(key, 'utf8');
  if (size > limits.keyBytesMax)
    throw new S3Error('KeyTooLongError', {
      details: { Size: String(size), MaxSizeAllowed: String(limits.keyBytesMax) },
    });
}

function parseQuery(query: string): QueryParameter[] {
  return query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const mark = part.indexOf('=');
      const [name, value] = mark < 0 ? [part, ''] : [part.slice(0, mark), part.slice(mark + 1)];
      return { name: decode(name.replaceAll('+', ' ')), value: decode(value.replaceAll('+', ' ')) };
    });
}

function parseHeaders(rawHeaders: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = (rawHeaders[index + 1] ?? '').trim();
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier},${value}`);
  }
  return headers;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error('InvalidURI');
  }
}
