// What a Signature Version 4 of a request covers: canonical request, string to sign, credential.
import { createHash, timingSafeEqual } from 'node:crypto';
import { ALGORITHM, encodeUriPart, encodeUriPath } from '../../infra/s3/signature-v4.ts';
import { S3Error } from './errors.ts';
import type { QueryParameter, StoreRequest } from './request.ts';

/** The credentials that a store accepts: one key pair, one region. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

/** `<access key>/<yyyymmdd>/<region>/s3/aws4_request` */
export interface CredentialScope {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  /** All after the access key. */
  readonly scope: string;
}

/** Undefined unless the credential has the five parts of an S3 scope. */
export function parseCredential(credential: string): CredentialScope | undefined {
  const parts = /^(.+)\/(\d{8})\/([^/]+)\/s3\/aws4_request$/.exec(credential);
  const [, accessKeyId, date, region] = parts ?? [];
  if (accessKeyId === undefined || date === undefined || region === undefined) return undefined;
  return { accessKeyId, date, region, scope: `${date}/${region}/s3/aws4_request` };
}

/** Milliseconds of a `yyyymmddThhmmssZ` time; undefined when it is none. */
export function parseTimestamp(timestamp: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(timestamp);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? undefined : time;
}

interface CanonicalParts {
  readonly request: StoreRequest;
  readonly signedHeaders: readonly string[];
  readonly payloadHash: string;
  /** A query parameter that is not signed: the signature itself. */
  readonly exceptParameter?: string;
}

export function renderCanonicalRequest(parts: CanonicalParts): string {
  const { request, signedHeaders } = parts;
  const headers = signedHeaders.map((name) => {
    const value = request.headers.get(name) ?? '';
    return `${name}:${value.replace(/ +/g, ' ')}\n`;
  });
  return [
    request.method,
    encodeUriPath(request.path),
    renderCanonicalQuery(request.query.filter((parameter) => parameter.name !== parts.exceptParameter)),
    headers.join(''),
    signedHeaders.join(';'),
    parts.payloadHash,
  ].join('\n');
}

function renderCanonicalQuery(query: readonly QueryParameter[]): string {
  const pairs = query.map(({ name, value }) => [encodeUriPart(name), encodeUriPart(value)] as const);
  pairs.sort(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

/** Header values have one character a byte, so that the hashed bytes are those of the request. */
export function renderStringToSign(timestamp: string, scope: string, canonicalRequest: string): string {
  const hash = createHash('sha256').update(canonicalRequest, 'latin1').digest('hex');
  return [ALGORITHM, timestamp, scope, hash].join('\n');
}

/** Compares in a time that does not tell where the two differ. */
export function isSameSignature(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Throws unless the credential is this store's: InvalidAccessKeyId, or AccessDenied for another region. */
export function assertOwnCredential(scope: CredentialScope, credentials: Credentials): void {
  if (scope.accessKeyId !== credentials.accessKeyId) throw new S3Error('InvalidAccessKeyId');
  if (scope.region !== credentials.region) {
    throw new S3Error('AuthorizationHeaderMalformed', {
      message: `The credential names the region '${scope.region}'; expecting '${credentials.region}'.`,
      details: { Region: credentials.region },
    });
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
