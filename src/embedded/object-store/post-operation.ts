// The upload by form: POST to a bucket, with fields that a policy covers and the file behind them.

import { createHmac } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { ALGORITHM, encodeUriPath, type Signer } from '../../infra/s3/signature-v4.ts';
import { createDigests } from './digests.ts';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { Objects } from './objects.ts';
import { parseContentType, renderIdentity } from './operations.ts';
import { type FormFields, readPostForm } from './post-form.ts';
import {
  assertPolicyAllows,
  EXEMPT_FIELDS,
  EXEMPT_PREFIX,
  parsePolicy,
  type SizeRange,
} from './post-policy.ts';
import type { Reply } from './reply.ts';
import { assertKey, type StoreRequest } from './request.ts';
import {
  assertOwnCredential,
  type Credentials,
  isSameSignature,
  parseCredential,
  parseTimestamp,
} from './signature.ts';

const FIELDS: ReadonlySet<string> = new Set([
  ...EXEMPT_FIELDS,
  'bucket',
  'content-type',
  'key',
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
]);

// biome-ignore lint/suspicious/noTemplateCurlyInString: the protocol's own variable
const FILENAME_VARIABLE = '${filename}';

type Parts = { objects: Objects; credentials: Credentials; signer: Signer };

type Grant = { key: string; size: SizeRange; contentType: string };

/** The returned function carries an upload by form out; it throws the S3Error to answer. */
export function createFormUpload({ objects, credentials, signer }: Parts) {
  /** Throws whatever there is to refuse in the fields, their expiry included, before the file streams. */
  function authorise(request: StoreRequest, fields: FormFields): Grant {
    const policy = parsePolicy(verifyForm(fields, { credentials, signer }));
    assertPolicyAllows(policy, { fields, bucket: request.bucket, now: Date.now() });
    request.admit('grant');
    const other = [...fields.keys()].find((name) => !FIELDS.has(name) && !name.startsWith(EXEMPT_PREFIX));
    if (other !== undefined) throw notImplemented(`the form field ${other}`);
    const bucket = fields.get('bucket');
    if (bucket !== undefined && bucket !== request.bucket)
      throw new S3Error('InvalidArgument', 'The form field bucket names another bucket.');
    if (request.bucket !== objects.bucket)
      throw new S3Error('NoSuchBucket', { details: { BucketName: request.bucket } });
    const key = fields.get('key') ?? '';
    assertKey(key);
    if (key.includes(FILENAME_VARIABLE)) throw notImplemented(FILENAME_VARIABLE);
    return { key, size: policy.size, contentType: parseContentType(fields.get('content-type')) };
  }

  return async function uploadByForm(request: StoreRequest): Promise<Reply> {
    const { key, object } = await readPostForm(request, async (fields, { content, formEnd }) => {
      const grant = authorise(request, fields);
      await using upload = await objects.beginUpload({
        sizeBytesMax: Math.min(grant.size.sizeBytesMax, limits.objectBytesMax),
        digests: createDigests(),
      });
      await Promise.all([pipeline(content, upload.sink), formEnd]);
      assertLargeEnough(upload.sizeBytes, grant.size.sizeBytesMin);
      return { key: grant.key, object: await objects.put(grant.key, upload, grant.contentType) };
    });
    const location = `http://${request.headers.get('host') ?? ''}/${request.bucket}/${encodeUriPath(key)}`;
    return { status: 204, headers: { location, ...renderIdentity(object) } };
  };
}

function assertLargeEnough(sizeBytes: number, sizeBytesMin: number): void {
  if (sizeBytes >= sizeBytesMin) return;
  throw new S3Error('EntityTooSmall', {
    details: { ProposedSize: String(sizeBytes), MinSizeAllowed: String(sizeBytesMin) },
  });
}

type Signing = Pick<Parts, 'credentials' | 'signer'>;

/**
 * Returns the signed policy, still in base64. A form that has anything of Version 4 is judged by that alone; the fields of Version 2,
 * as old browser forms have them, may then be there for other stores. Throws AccessDenied for a form without policy or signature,
 * InvalidAccessKeyId, SignatureDoesNotMatch.
 */
function verifyForm(fields: FormFields, signing: Signing): string {
  const policy = fields.get('policy');
  if (policy === undefined) throw new S3Error('AccessDenied');
  const isVersion4 = ['x-amz-signature', 'x-amz-algorithm', 'x-amz-credential'].some((name) =>
    fields.has(name),
  );
  if (isVersion4) assertVersion4(fields, policy, signing);
  else assertVersion2(fields, policy, signing);
  return policy;
}

function assertVersion4(fields: FormFields, policy: string, { credentials, signer }: Signing): void {
  const scope = parseCredential(fields.get('x-amz-credential') ?? '');
  const timestamp = fields.get('x-amz-date') ?? '';
  if (fields.get('x-amz-algorithm') !== ALGORITHM) throw invalidField('x-amz-algorithm');
  if (scope === undefined) throw invalidField('x-amz-credential');
  if (parseTimestamp(timestamp) === undefined || !timestamp.startsWith(scope.date))
    throw invalidField('x-amz-date');
  assertOwnCredential(scope, credentials);
  const expected = signer.sign(scope.date, policy);
  if (!isSameSignature(fields.get('x-amz-signature') ?? '', expected))
    throw new S3Error('SignatureDoesNotMatch');
}

/** Version 2 names the access key AWSAccessKeyId; the interface's own form calls it StorageAccessKeyId. */
function assertVersion2(fields: FormFields, policy: string, { credentials }: Signing): void {
  const given = ['awsaccesskeyid', 'storageaccesskeyid'].flatMap((name) => fields.get(name) ?? []);
  const signature = fields.get('signature');
  if (given.length === 0 || signature === undefined) throw new S3Error('AccessDenied');
  if (given.some((accessKeyId) => accessKeyId !== credentials.accessKeyId))
    throw new S3Error('InvalidAccessKeyId');
  const expected = createHmac('sha1', credentials.secretAccessKey).update(policy).digest('base64');
  if (!isSameSignature(signature, expected)) throw new S3Error('SignatureDoesNotMatch');
}

const invalidField = (name: string): S3Error =>
  new S3Error('InvalidArgument', `The form field ${name} is missing or not valid.`);
