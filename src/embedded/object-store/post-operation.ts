// The upload by form: POST to a bucket, with fields that a policy covers and the file behind them.

import { pipeline } from 'node:stream/promises';
import { encodeUriPath } from '../../infra/s3/signature-v4.ts';
import { parseContentType } from './content-headers.ts';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { assertKey } from './names.ts';
import { renderIdentity } from './object-operations.ts';
import type { Objects } from './objects.ts';
import { type FormFields, readPostForm } from './post-form.ts';
import {
  assertPolicyAllows,
  EXEMPT_FIELDS,
  EXEMPT_PREFIX,
  parsePolicy,
  type SizeRange,
} from './post-policy.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';

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

interface PostOperationOptions {
  readonly objects: Objects;
  /** Answers the form's signed policy, or throws. */
  readonly verifyForm: (fields: FormFields) => string;
  readonly now: () => number;
}

interface Grant {
  readonly key: string;
  readonly size: SizeRange;
  readonly contentType: string;
}

export function createPostOperation({ objects, verifyForm, now }: PostOperationOptions) {
  /** Throws whatever there is to refuse in the fields, their expiry included, before the file streams. */
  function authorise(request: StoreRequest, fields: FormFields): Grant {
    const policy = parsePolicy(verifyForm(fields));
    assertPolicyAllows(policy, { fields, bucket: request.bucket, now: now() });
    request.admit('grant');
    const other = [...fields.keys()].find((name) => !FIELDS.has(name) && !name.startsWith(EXEMPT_PREFIX));
    if (other !== undefined) throw notImplemented(`the form field ${other}`);
    const bucket = fields.get('bucket');
    if (bucket !== undefined && bucket !== request.bucket)
      throw new S3Error('InvalidArgument', 'The form field bucket names another bucket.');
    objects.assertBucket(request.bucket);
    const key = fields.get('key') ?? '';
    assertKey(key);
    if (key.includes(FILENAME_VARIABLE)) throw notImplemented(FILENAME_VARIABLE);
    return { key, size: policy.size, contentType: parseContentType(fields.get('content-type')) };
  }

  return async function postObject(request: StoreRequest): Promise<Reply> {
    const { key, contentType, blob } = await readPostForm(request, async (fields, { content, formEnd }) => {
      const { size, ...granted } = authorise(request, fields);
      const received = await objects.receive({
        sizeBytesMax: Math.min(size.sizeBytesMax, limits.objectBytesMax),
        digests: ['md5'],
        fill: async (sink) => {
          await Promise.all([pipeline(content, sink), formEnd]);
        },
        check: ({ sizeBytes }) => assertLargeEnough(sizeBytes, size.sizeBytesMin),
      });
      return { ...granted, blob: received };
    });
    const object = await objects.put({ bucket: request.bucket, key }, blob, contentType);
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
