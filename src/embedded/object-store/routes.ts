// Which operation a request is, and which options that operation takes. Every other option is refused by name: one that
// the store ignored would seem to have had its effect.
import { createSigner } from '../../infra/s3/signature-v4.ts';
import { notImplemented, S3Error } from './errors.ts';
import { uploadByForm } from './form-upload.ts';
import type { Objects } from './objects.ts';
import { createOperations } from './operations.ts';
import type { Reply } from './reply.ts';
import { assertKey, type StoreRequest } from './request.ts';
import { authenticate, type Credentials } from './signature.ts';

/** Options of the signature, and options that clients add to any request. S3 gives no meaning to `x-` without `amz`. */
const TAKEN_BY_ALL =
  /^x-(?!amz-)|^x-amz-(algorithm|checksum-mode|content-sha256|credential|date|expires|sdk-.+|signature|signedheaders|user-agent)$/;

/** Of requests with a body: a checksum that the SDK adds. */
const CHECKSUM = 'x-amz-checksum-crc32';

/** Headers without `x-amz-` that S3 gives a meaning to in a request that changes something. */
const OPTIONS_OF_CHANGES =
  /^(cache-control|content-disposition|content-encoding|content-language|expires|if-.+)$/;

type Operation = {
  run(request: StoreRequest, payload: string): Reply | Promise<Reply>;
  /** Query parameters and headers, in lower case. */
  takes: readonly string[];
};

/** The returned function carries a request out; it throws the S3Error to answer. */
export function createRoutes({ objects, credentials }: { objects: Objects; credentials: Credentials }) {
  const signer = createSigner(credentials);
  const on = createOperations({ objects, region: credentials.region });
  const operations: Readonly<Record<string, Operation>> = {
    'GET object': { run: on.getObject, takes: ['response-content-disposition', 'response-content-type'] },
    'HEAD object': { run: on.headObject, takes: [] },
    'PUT object': { run: on.putObject, takes: [CHECKSUM] },
    'COPY object': {
      run: on.copyObject,
      takes: ['x-amz-copy-source', 'x-amz-copy-source-if-match', 'x-amz-metadata-directive'],
    },
    'DELETE object': { run: on.deleteObject, takes: ['if-match'] },
    'GET bucket': {
      run: on.listObjects,
      takes: ['list-type', 'prefix', 'continuation-token', 'encoding-type'],
    },
    'HEAD bucket': { run: on.headBucket, takes: [] },
    'PUT bucket': { run: on.createBucket, takes: [CHECKSUM] },
    'POST bucket?delete': { run: on.deleteObjects, takes: ['delete', CHECKSUM] },
  };

  return async function route(request: StoreRequest): Promise<Reply> {
    const { method, bucket, key } = request;
    if (method === 'POST' && key === '' && request.query.length === 0)
      return await uploadByForm(request, { objects, credentials, signer });
    const { presigned, payload } = authenticate(request, credentials, signer);
    request.permit.admit(presigned ? 'grant' : 'service');
    const name = nameOf(request);
    const operation = operations[name];
    if (key !== '') assertKey(key);
    assertTaken(request, operation?.takes ?? []);
    if (operation === undefined) throw notImplemented(name);
    if (bucket !== objects.bucket) throw new S3Error('NoSuchBucket', { details: { BucketName: bucket } });
    return await operation.run(request, payload);
  };
}

function nameOf(request: StoreRequest): string {
  const { method, bucket, key } = request;
  if (bucket === '') return `${method} service`;
  if (key === '') return `${method} bucket${request.parameter('delete') === undefined ? '' : '?delete'}`;
  return method === 'PUT' && request.setting('x-amz-copy-source') !== undefined
    ? 'COPY object'
    : `${method} object`;
}

function assertTaken(request: StoreRequest, takes: readonly string[]): void {
  const isChange = request.method !== 'GET' && request.method !== 'HEAD';
  const options = [
    ...request.query.map(({ name }) => name.toLowerCase()),
    ...[...request.headers.keys()].filter(
      (name) => name.startsWith('x-amz-') || (isChange && OPTIONS_OF_CHANGES.test(name)),
    ),
  ];
  const other = options.find((option) => !takes.includes(option) && !TAKEN_BY_ALL.test(option));
  if (other !== undefined) throw notImplemented(other);
}
