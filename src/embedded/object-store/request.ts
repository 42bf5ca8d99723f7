// One request to the store: the bucket and key of its target, and its headers as sent.
import type { IncomingMessage } from 'node:http';
import type { Authority } from './admission.ts';
import { S3Error } from './errors.ts';

export interface QueryParameter {
  readonly name: string;
  readonly value: string;
}

export interface StoreRequest {
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
  parameter(name: string): string | undefined;
  /** An x-amz-* header, which pre-signed URLs carry as a parameter instead. */
  setting(name: string): string | undefined;
  readonly message: IncomingMessage;
  /** Sends 100 Continue if the client waits for it; the reader of the body calls it. */
  readonly acceptBody: () => void;
  /** Called once its signature has been found to hold; throws SlowDown where there is no room for it. */
  readonly admit: (authority: Authority) => void;
  /** Called when bytes of the body have arrived, because a request that hardly moves may have to give way. */
  readonly moved: (bytes: number) => void;
}

/**
 * Reads target and headers. The target is taken as it was sent: a URL parser would resolve `..`,
 * which is an ordinary part of a key here.
 * Throws InvalidURI where an escape is broken or is not UTF-8.
 */
export function parseRequest(
  message: IncomingMessage,
  { acceptBody, admit, moved }: Pick<StoreRequest, 'acceptBody' | 'admit' | 'moved'>,
): StoreRequest {
  const target = message.url ?? '';
  const mark = target.indexOf('?');
  const path = decode(mark < 0 ? target : target.slice(0, mark));
  if (!path.startsWith('/')) throw new S3Error('InvalidURI');
  const slash = path.indexOf('/', 1);
  const query = mark < 0 ? [] : parseQuery(target.slice(mark + 1));
  const headers = parseHeaders(message.rawHeaders);
  return {
    method: message.method ?? '',
    path,
    bucket: slash < 0 ? path.slice(1) : path.slice(1, slash),
    key: slash < 0 ? '' : path.slice(slash + 1),
    query,
    headers,
    parameter: (name) => query.find((parameter) => parameter.name === name)?.value,
    setting: (name) =>
      headers.get(name) ?? query.find((parameter) => parameter.name.toLowerCase() === name)?.value,
    message,
    acceptBody,
    admit,
    moved,
  };
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
