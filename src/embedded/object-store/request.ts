// One request to the store: the bucket and key of its target, its headers as sent, and its body.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission } from './admission.ts';
import { ClientGone, S3Error } from './errors.ts';
import { limits } from './limits.ts';

export type QueryParameter = { name: string; value: string };

type Permit = ReturnType<Admission['begin']>;

export class StoreRequest {
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
  readonly permit: Permit;
  /** Whether the client still waits for 100 Continue before it sends its body. */
  waitsForContinue: boolean;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;

  /**
   * The target is taken as it was sent: a URL parser would resolve `..`, which is an ordinary part of a key here. Throws InvalidURI
   * where an escape is broken or is not UTF-8.
   */
  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    { permit, waitsForContinue }: { permit: Permit; waitsForContinue: boolean },
  ) {
    this.#message = message;
    this.#response = response;
    this.permit = permit;
    this.waitsForContinue = waitsForContinue;
    const target = message.url ?? '';
    const mark = target.indexOf('?');
    this.method = message.method ?? '';
    this.path = decode(mark < 0 ? target : target.slice(0, mark));
    if (!this.path.startsWith('/')) throw new S3Error('InvalidURI');
    const slash = this.path.indexOf('/', 1);
    this.bucket = slash < 0 ? this.path.slice(1) : this.path.slice(1, slash);
    this.key = slash < 0 ? '' : this.path.slice(slash + 1);
    this.query = mark < 0 ? [] : parseQuery(target.slice(mark + 1));
    this.headers = parseHeaders(message.rawHeaders);
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

  /**
   * The body as it arrives; the client waits while the reader does, and is cut where it is idle. Throws ClientGone. After a reader
   * that stops early the request can still be answered.
   */
  async *body(): AsyncGenerator<Buffer> {
    this.#message.socket.setTimeout(limits.uploadIdleMsMax);
    if (this.waitsForContinue) this.#response.writeContinue();
    this.waitsForContinue = false;
    try {
      for await (const chunk of this.#message.iterator({ destroyOnReturn: false })) {
        this.permit.moved(chunk.length);
        yield chunk;
      }
    } catch {
      throw new ClientGone();
    }
    if (!this.#message.complete) throw new ClientGone();
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

const parseQuery = (query: string): QueryParameter[] =>
  query
    .replaceAll('+', ' ')
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', ...value] = part.split('=');
      return { name: decode(name), value: decode(value.join('=')) };
    });

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
