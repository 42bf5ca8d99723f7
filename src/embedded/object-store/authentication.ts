// Decides whether a request carries a valid Signature Version 4, in its headers or in its query.
import { ALGORITHM, type Signer } from '../../infra/s3/signature-v4.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { StoreRequest } from './request.ts';
import {
  assertOwnCredential,
  type CredentialScope,
  type Credentials,
  isSameSignature,
  parseCredential,
  parseTimestamp,
  renderCanonicalRequest,
  renderStringToSign,
} from './signature.ts';

const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';

/** A request whose signature holds. */
export interface Authentication {
  /** Signed in its URL, which a client may have received from the service; otherwise in its headers. */
  readonly presigned: boolean;
  /** x-amz-content-sha256: a hash in hex, or one of the protocol's words. */
  readonly payload: string;
  /** The seed of the chained signatures of aws-chunked chunks. */
  readonly timestamp: string;
  readonly scope: CredentialScope;
  readonly signature: string;
}

interface Claim extends Omit<Authentication, 'presigned'> {
  readonly signedHeaders: readonly string[];
}

/**
 * The returned function returns the signed parts, or throws the S3Error for the client. The signature covers the whole
 * target and all x-amz-* headers; the body is checked later, against `payload`.
 */
export function createAuthenticator(options: { credentials: Credentials; signer: Signer }) {
  return function authenticate(request: StoreRequest): Authentication {
    const isPresigned = request.parameter('X-Amz-Algorithm') !== undefined;
    const claim = isPresigned ? readQuery(request, Date.now()) : readHeaders(request, Date.now());
    assertOwnCredential(claim.scope, options.credentials);
    if (!claim.timestamp.startsWith(claim.scope.date)) throw new S3Error('SignatureDoesNotMatch');
    assertAllSigned(request, claim.signedHeaders);
    const canonical = renderCanonicalRequest({
      request,
      signedHeaders: claim.signedHeaders,
      payloadHash: claim.payload,
      ...(isPresigned ? { exceptParameter: 'X-Amz-Signature' } : {}),
    });
    const text = renderStringToSign(claim.timestamp, claim.scope.scope, canonical);
    if (!isSameSignature(claim.signature, options.signer.sign(claim.scope.date, text)))
      throw new S3Error('SignatureDoesNotMatch');
    return { ...claim, presigned: isPresigned };
  };
}

function readHeaders(request: StoreRequest, now: number): Claim {
  const authorization = request.headers.get('authorization');
  if (authorization === undefined) {
    if (request.parameter('AWSAccessKeyId') === undefined) throw new S3Error('AccessDenied');
    throw unsupportedMechanism();
  }
  if (!authorization.startsWith(`${ALGORITHM} `)) throw unsupportedMechanism();
  const fields = new Map(
    authorization
      .slice(ALGORITHM.length)
      .split(',')
      .map((field) => {
        const [name = '', ...value] = field.trim().split('=');
        return [name, value.join('=')] as const;
      }),
  );
  const scope = parseCredential(fields.get('Credential') ?? '');
  const signedHeaders = fields.get('SignedHeaders');
  const signature = fields.get('Signature');
  if (scope === undefined || signedHeaders === undefined || signature === undefined)
    throw new S3Error('AuthorizationHeaderMalformed');
  const timestamp = request.headers.get('x-amz-date') ?? '';
  const time = parseTimestamp(timestamp);
  if (time === undefined)
    throw new S3Error('AccessDenied', 'AWS authentication requires a valid x-amz-date header');
  if (Math.abs(now - time) > limits.clockSkewMsMax) {
    throw new S3Error('RequestTimeTooSkewed', {
      details: { RequestTime: timestamp, ServerTime: new Date(now).toISOString() },
    });
  }
  const payload = request.headers.get('x-amz-content-sha256');
  if (payload === undefined)
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  return { scope, timestamp, signedHeaders: signedHeaders.split(';'), signature, payload };
}

function readQuery(request: StoreRequest, now: number): Claim {
  if (request.headers.has('authorization'))
    throw new S3Error('InvalidArgument', 'Only one auth mechanism allowed');
  const parameter = (name: string) => request.parameter(`X-Amz-${name}`) ?? '';
  const scope = parseCredential(parameter('Credential'));
  const timestamp = parameter('Date');
  const time = parseTimestamp(timestamp);
  const expires = /^\d{1,7}$/.test(parameter('Expires')) ? Number(parameter('Expires')) : 0;
  if (parameter('Algorithm') !== ALGORITHM) throw queryError(`X-Amz-Algorithm only supports "${ALGORITHM}"`);
  if (scope === undefined) throw queryError('Error parsing the X-Amz-Credential parameter');
  if (time === undefined)
    throw queryError("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  if (expires < 1) throw queryError('X-Amz-Expires must be a number of at least 1');
  if (expires > limits.presignedSecondsMax)
    throw queryError('X-Amz-Expires must be less than a week (in seconds); that is, less than 604800');
  if (parameter('SignedHeaders') === '' || parameter('Signature') === '')
    throw queryError('Query-string authentication requires X-Amz-SignedHeaders and X-Amz-Signature');
  if (time - now > limits.clockSkewMsMax) throw new S3Error('AccessDenied', 'Request is not yet valid');
  const expiry = time + expires * 1000;
  if (now > expiry) {
    throw new S3Error('AccessDenied', {
      message: 'Request has expired',
      details: { Expires: new Date(expiry).toISOString(), ServerTime: new Date(now).toISOString() },
    });
  }
  const signedHeaders = parameter('SignedHeaders').split(';');
  const payload = signedHeaders.includes('x-amz-content-sha256')
    ? request.headers.get('x-amz-content-sha256')
    : parameter('Content-Sha256');
  const signature = parameter('Signature');
  return { scope, timestamp, signedHeaders, signature, payload: payload || UNSIGNED_PAYLOAD };
}

/** An unsigned x-amz-* header could change the meaning of a signed request. */
function assertAllSigned(request: StoreRequest, signedHeaders: readonly string[]): void {
  const unsigned = [...request.headers.keys()].filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  if (unsigned.length === 0) return;
  throw new S3Error('AccessDenied', {
    message: 'There were headers present in the request which were not signed',
    details: { HeadersNotSigned: unsigned.join(', ') },
  });
}

const queryError = (message: string): S3Error => new S3Error('AuthorizationQueryParametersError', message);

const unsupportedMechanism = (): S3Error =>
  new S3Error(
    'InvalidRequest',
    `The authorization mechanism you have provided is not supported. Please use ${ALGORITHM}.`,
  );
