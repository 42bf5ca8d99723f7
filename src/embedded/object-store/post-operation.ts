// The upload by form: POST to a bucket, with fields that a policy covers and the file behind them.
import { pipeline } from 'node:stream/promises';
import type { Blob } from './blobs.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { assertKey } from './names.ts';
import { type ObjectAttributes, parseAttributes } from './object-attributes.ts';
import { renderVersion } from './object-operations.ts';
import type { Objects, StoredObject } from './objects.ts';
import { type FormFields, readPostForm } from './post-form.ts';
import { assertPolicyAllows, parsePolicy, type SizeRange } from './post-policy.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';
import { encodeUriPath } from './uri.ts';
import { element, renderDocument } from './xml.ts';

interface PostOperationOptions {
  readonly objects: Objects;
  /** Answers the form's signed policy, or throws. */
  readonly verifyForm: (fields: ReadonlyMap<string, string>) => string;
  readonly now: () => number;
}

interface Grant {
  readonly key: string;
  readonly size: SizeRange;
  readonly attributes: ObjectAttributes;
  readonly fields: FormFields;
}

export function createPostOperation({ objects, verifyForm, now }: PostOperationOptions) {
  /** All that is to be said about the fields is said here, before the file streams: also that they expired. */
  function authorise(request: StoreRequest, fields: FormFields): Grant {
    const policy = parsePolicy(verifyForm(fields.values));
    assertPolicyAllows(policy, { fields: fields.values, bucket: request.bucket, now: now() });
    request.admit('grant');
    const bucket = fields.values.get('bucket');
    if (bucket !== undefined && bucket !== request.bucket) {
      throw new S3Error('InvalidArgument', { message: 'The form field bucket names another bucket.' });
    }
    objects.assertBucket(request.bucket);
    const key = fields.values.get('key') ?? '';
    assertKey(key);
    return { key, size: policy.size, attributes: parseAttributes(fields.values), fields };
  }

  return async function postObject(request: StoreRequest): Promise<Reply> {
    const { grant, blob } = await readPostForm(request, async (fields, { content, formEnd }) => {
      const granted = authorise(request, fields);
      const received: Blob = await objects.receive({
        sizeBytesMax: Math.min(granted.size.sizeBytesMax, limits.objectBytesMax),
        digests: ['md5'],
        fill: async (sink) => {
          await Promise.all([pipeline(content, sink), formEnd]);
        },
        check: ({ sizeBytes }) => assertLargeEnough(sizeBytes, granted.size.sizeBytesMin),
      });
      return { grant: granted, blob: received };
    });
    const name = { bucket: request.bucket, key: grant.key };
    const object = await objects.put(name, blob, grant.attributes);
    return renderSuccess(request, grant, object);
  };
}

function assertLargeEnough(sizeBytes: number, sizeBytesMin: number): void {
  if (sizeBytes >= sizeBytesMin) return;
  throw new S3Error('EntityTooSmall', {
    details: { ProposedSize: String(sizeBytes), MinSizeAllowed: String(sizeBytesMin) },
  });
}

function renderSuccess(request: StoreRequest, { key, fields }: Grant, object: StoredObject): Reply {
  const etag = `"${object.etag}"`;
  const version = renderVersion(object);
  const host = request.headers.get('host') ?? '';
  const location = `http://${host}/${request.bucket}/${encodeUriPath(key)}`;
  const redirect = parseRedirect(fields.values.get('success_action_redirect'));
  if (redirect !== undefined) {
    redirect.searchParams.set('bucket', request.bucket);
    redirect.searchParams.set('key', key);
    redirect.searchParams.set('etag', etag);
    return { status: 303, headers: { location: redirect.href, etag, ...version } };
  }
  const headers = { location, etag, ...version };
  const wanted = fields.values.get('success_action_status');
  if (wanted === '200') return { status: 200, headers };
  if (wanted !== '201') return { status: 204, headers };
  const document = renderDocument('PostResponse', [
    element('Location', location),
    element('Bucket', request.bucket),
    element('Key', key),
    element('ETag', etag),
  ]);
  return { status: 201, headers, document };
}

/** A value that is not a web address is treated as absent. */
function parseRedirect(redirect: string | undefined): URL | undefined {
  const url = redirect === undefined ? null : URL.parse(redirect);
  return url !== null && ['http:', 'https:'].includes(url.protocol) ? url : undefined;
}
