// Decides whether a request carries a valid Signature Version 4, in its headers or in its query.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html

import { createHash, timingSafeEqual } from 'node:crypto';
import { ALGORITHM, encodeUriPart, encodeUriPath, type Signer } from '../../infra/s3/signature-v4.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { StoreRequest } from './request.ts';

/** The credentials that a store accepts: one key pair, one region. */
export type Credentials = { accessKeyId: string; secretAccessKey: string; region: string };

type Claim = {
  credential: string;
  timestamp: string;
  signedHeaders: string[];
  signature: string;
  /** x-amz-content-sha256: a hash in hex, or one of the protocol's words. */
  payload: string;
};

/**
 * Throws the S3Error for the client unless the signature holds, which covers the whole target and all x-amz-* headers. The body is
 * checked later, against `payload`. `presigned`: signed in its URL, which a client may have received from the service.
 */
export function authenticate(request: StoreRequest, credentials: Credentials, signer: Signer) {
  const presigned = request.parameter('X-Amz-Algorithm') !== undefined;
  const claim = presigned ? readQuery(request, Date.now()) : readHeaders(request, Date.now());
  const { timestamp, signedHeaders, payload } = claim;
  const scope = assertOwnCredential(claim.credential, credentials);
  if (scope === undefined)
    throw new S3Error(presigned ? 'AuthorizationQueryParametersError' : 'AuthorizationHeaderMalformed');
  if (!timestamp.startsWith(scope.date)) throw new S3Error('SignatureDoesNotMatch');
  assertAllSigned(request, signedHeaders);
  // Header values have one character a byte, so that the hashed bytes are those of the request.
  const hash = createHash('sha256').update(renderCanonical(request, claim), 'latin1').digest('hex');
  const text = [ALGORITHM, timestamp, scope.scope, hash].join('\n');
  if (!isSameSignature(claim.signature, signer.sign(scope.date, text)))
    throw new S3Error('SignatureDoesNotMatch');
  return { presigned, payload };
}

function readHeaders(request: StoreRequest, now: number): Claim {
  const { headers } = request;
  const authorization = headers.get('authorization');
  if (authorization === undefined && request.parameter('AWSAccessKeyId') === undefined)
    throw new S3Error('AccessDenied');
  if (authorization?.startsWith(`${ALGORITHM} `) !== true)
    throw new S3Error(
      'InvalidRequest',
      `The authorization mechanism you have provided is not supported. Please use ${ALGORITHM}.`,
    );
  const field = (name: string): string => {
    const value = new RegExp(`[ ,]${name}=([^,]*)`).exec(authorization)?.[1]?.trim();
    if (value === undefined) throw new S3Error('AuthorizationHeaderMalformed');
    return value;
  };
  const timestamp = headers.get('x-amz-date') ?? '';
  const time = parseTimestamp(timestamp);
  const signature = field('Signature');
  const [credential, signedHeaders] = [field('Credential'), field('SignedHeaders').split(';')];
  if (time === undefined)
    throw new S3Error('AccessDenied', 'AWS authentication requires a valid x-amz-date header');
  if (Math.abs(now - time) > limits.clockSkewMsMax)
    throw new S3Error('RequestTimeTooSkewed', {
      details: { RequestTime: timestamp, ServerTime: new Date(now).toISOString() },
    });
  const payload = headers.get('x-amz-content-sha256');
  if (payload === undefined)
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  return { credential, timestamp, signedHeaders, signature, payload };
}

function readQuery(request: StoreRequest, now: number): Claim {
  if (request.headers.has('authorization'))
    throw new S3Error('InvalidArgument', 'Only one auth mechanism allowed');
  const parameter = (name: string) => request.parameter(`X-Amz-${name}`) ?? '';
  const timestamp = parameter('Date');
  const time = parseTimestamp(timestamp);
  const expires = /^\d{1,7}$/.test(parameter('Expires')) ? Number(parameter('Expires')) : 0;
  const isComplete = [parameter('SignedHeaders'), parameter('Signature')].every((value) => value !== '');
  const isValid = expires >= 1 && expires <= limits.presignedSecondsMax && time !== undefined;
  if (parameter('Algorithm') !== ALGORITHM || !isComplete || !isValid)
    throw new S3Error('AuthorizationQueryParametersError');
  if (time - now > limits.clockSkewMsMax) throw new S3Error('AccessDenied', 'Request is not yet valid');
  const expiry = time + expires * 1000;
  if (now > expiry)
    throw new S3Error('AccessDenied', {
      message: 'Request has expired',
      details: { Expires: new Date(expiry).toISOString(), ServerTime: new Date(now).toISOString() },
    });
  const signedHeaders = parameter('SignedHeaders').split(';');
  const payload = signedHeaders.includes('x-amz-content-sha256')
    ? request.headers.get('x-amz-content-sha256')
    : parameter('Content-Sha256');
  const signature = parameter('Signature');
  const credential = parameter('Credential');
  return { credential, timestamp, signedHeaders, signature, payload: payload || 'UNSIGNED-PAYLOAD' };
}

/** An unsigned x-amz-* header could change the meaning of a signed request. */
function assertAllSigned({ headers }: StoreRequest, signedHeaders: readonly string[]): void {
  const unsigned = [...headers.keys()].filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  if (unsigned.length === 0) return;
  throw new S3Error('AccessDenied', {
    message: 'There were headers present in the request which were not signed',
    details: { HeadersNotSigned: unsigned.join(', ') },
  });
}

/** The canonical request. */
function renderCanonical({ method, path, query, headers }: StoreRequest, claim: Claim): string {
  const { signedHeaders, payload } = claim;
  const lines = signedHeaders.map((name) => `${name}:${(headers.get(name) ?? '').replace(/ +/g, ' ')}\n`);
  const parameters = query
    .filter(({ name }) => name !== 'X-Amz-Signature')
    .map(({ name, value }) => [encodeUriPart(name), encodeUriPart(value)] as const)
    .sort(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB))
    .map((pair) => pair.join('='));
  return [
    method,
    encodeUriPath(path),
    parameters.join('&'),
    lines.join(''),
    signedHeaders.join(';'),
    payload,
  ].join('\n');
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Parses `<access key>/<yyyymmdd>/<region>/s3/aws4_request`; undefined unless it has these parts. Throws unless it is this store's:
 * InvalidAccessKeyId, or AuthorizationHeaderMalformed for another region.
 */
export function assertOwnCredential(credential: string, credentials: Credentials) {
  const parts = /^(.+)\/(\d{8})\/([^/]+)\/s3\/aws4_request$/.exec(credential);
  const [, accessKeyId, date, region] = parts ?? [];
  if (accessKeyId === undefined || date === undefined || region === undefined) return undefined;
  if (accessKeyId !== credentials.accessKeyId) throw new S3Error('InvalidAccessKeyId');
  if (region !== credentials.region)
    throw new S3Error('AuthorizationHeaderMalformed', {
      message: `The credential names the region '${region}'; expecting '${credentials.region}'.`,
      details: { Region: credentials.region },
    });
  return { date, scope: `${date}/${region}/s3/aws4_request` };
}

/** Milliseconds of a `yyyymmddThhmmssZ` time; undefined when it is none. */
export function parseTimestamp(timestamp: string): number | undefined {
  const iso = timestamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  const time = iso === timestamp ? Number.NaN : Date.parse(iso);
  return Number.isNaN(time) ? undefined : time;
}

/** Compares in a time that does not tell where the two differ. */
export function isSameSignature(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
