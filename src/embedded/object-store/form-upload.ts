// The upload by form: POST to a bucket, with fields that a policy covers and the file behind them.

import { createHmac } from 'node:crypto';
import { ALGORITHM, encodeUriPath, type Signer } from '../../infra/s3/signature-v4.ts';
import { createDigests } from './digests.ts';
import { notImplemented, S3Error } from './errors.ts';
import { type FormFields, readPostForm } from './form.ts';
import { limits } from './limits.ts';
import type { Objects } from './objects.ts';
import { assertPolicyAllows, EXEMPT_FIELDS, EXEMPT_PREFIX, parsePolicy } from './post-policy.ts';
import { parseContentType, renderIdentity } from './reply.ts';
import { assertKey, type StoreRequest } from './request.ts';
import { assertOwnCredential, type Credentials, isSameSignature, parseTimestamp } from './signature.ts';

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

/** Carries an upload by form out; throws the S3Error to answer. */
export async function uploadByForm(request: StoreRequest, parts: Parts) {
  const { objects } = parts;
  const { key, object } = await readPostForm(request, async (fields, content, formEnd) => {
    const grant = authorise(request, fields, parts);
    await using upload = await objects.beginUpload({
      sizeBytesMax: Math.min(grant.size.sizeBytesMax, limits.objectBytesMax),
      digests: createDigests(),
    });
    for await (const chunk of content) await upload.write(chunk);
    await formEnd;
    if (upload.sizeBytes < grant.size.sizeBytesMin)
      throw new S3Error('EntityTooSmall', {
        details: { ProposedSize: `${upload.sizeBytes}`, MinSizeAllowed: `${grant.size.sizeBytesMin}` },
      });
    return { key: grant.key, object: await objects.put(grant.key, upload, grant.contentType) };
  });
  const location = `http://${request.headers.get('host') ?? ''}/${request.bucket}/${encodeUriPath(key)}`;
  return { status: 204, headers: { location, ...renderIdentity(object) } };
}

/** Throws whatever there is to refuse in the fields, their expiry included, before the file streams. */
function authorise(request: StoreRequest, fields: FormFields, { objects, ...signing }: Parts) {
  const policy = parsePolicy(verifyForm(fields, signing));
  assertPolicyAllows(policy, { fields, bucket: request.bucket, now: Date.now() });
  request.permit.admit('grant');
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

/**
 * Returns the signed policy, still in base64. A form that has anything of Version 4 is judged by that alone; the fields of Version 2,
 * as old browser forms have them, may then be there for other stores. Throws AccessDenied for a form without policy or signature,
 * InvalidAccessKeyId, SignatureDoesNotMatch.
 */
function verifyForm(fields: FormFields, signing: Omit<Parts, 'objects'>): string {
  const policy = fields.get('policy');
  if (policy === undefined) throw new S3Error('AccessDenied');
  const isVersion4 = ['x-amz-signature', 'x-amz-algorithm', 'x-amz-credential'].some((name) =>
    fields.has(name),
  );
  const [given, expected] = isVersion4
    ? signVersion4(fields, policy, signing)
    : signVersion2(fields, policy, signing.credentials);
  if (!isSameSignature(given, expected)) throw new S3Error('SignatureDoesNotMatch');
  return policy;
}

/** The signature that the form has, and the one that it should have. */
function signVersion4(
  fields: FormFields,
  policy: string,
  { credentials, signer }: Omit<Parts, 'objects'>,
): [string, string] {
  const invalid = (name: string): S3Error =>
    new S3Error('InvalidArgument', `The form field ${name} is missing or not valid.`);
  if (fields.get('x-amz-algorithm') !== ALGORITHM) throw invalid('x-amz-algorithm');
  const scope = assertOwnCredential(fields.get('x-amz-credential') ?? '', credentials);
  if (scope === undefined) throw invalid('x-amz-credential');
  const timestamp = fields.get('x-amz-date') ?? '';
  if (parseTimestamp(timestamp) === undefined || !timestamp.startsWith(scope.date))
    throw invalid('x-amz-date');
  return [fields.get('x-amz-signature') ?? '', signer.sign(scope.date, policy)];
}

/** As `signVersion4`. Version 2 names the access key AWSAccessKeyId; the interface's own form calls it StorageAccessKeyId. */
function signVersion2(fields: FormFields, policy: string, credentials: Credentials): [string, string] {
  const given = ['awsaccesskeyid', 'storageaccesskeyid'].flatMap((name) => fields.get(name) ?? []);
  const signature = fields.get('signature');
  if (given.length === 0 || signature === undefined) throw new S3Error('AccessDenied');
  if (given.some((accessKeyId) => accessKeyId !== credentials.accessKeyId))
    throw new S3Error('InvalidAccessKeyId');
  return [signature, createHmac('sha1', credentials.secretAccessKey).update(policy).digest('base64')];
}
