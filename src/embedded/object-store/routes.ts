// Which operation a request is, by its method, its target and its query.
import { type Authentication, createAuthenticator } from './authentication.ts';
import { createBucketOperations } from './bucket-operations.ts';
import { S3Error } from './errors.ts';
import { assertBucketName, assertKey } from './names.ts';
import { createObjectOperations } from './object-operations.ts';
import type { Objects } from './objects.ts';
import { createPostOperation } from './post-operation.ts';
import { createFormVerifier } from './post-signature.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';
import { type Credentials, createSigner } from './signature.ts';

/** Parameters that would make it another operation, of those that are not there. */
const OTHER_OPERATIONS: ReadonlySet<string> = new Set([
  'accelerate',
  'acl',
  'analytics',
  'attributes',
  'cors',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'partNumber',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'renameObject',
  'replication',
  'requestPayment',
  'restore',
  'retention',
  'select',
  'session',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versioning',
  'versions',
  'website',
]);

/** Headers of features that this store does not have, and would otherwise silently ignore. */
const UNSUPPORTED_HEADERS = /^x-amz-(server-side-encryption|object-lock|tagging|website-redirect|grant-)/;

interface RoutesOptions {
  readonly objects: Objects;
  readonly credentials: Credentials;
  readonly now: () => number;
}

type Operation = (request: StoreRequest, authentication: Authentication) => Reply | Promise<Reply>;

/** The returned function carries a request out; it throws the S3Error to answer. */
export function createRoutes({ objects, credentials, now }: RoutesOptions) {
  const signer = createSigner(credentials);
  const authenticate = createAuthenticator({ credentials, signer, now });
  const objectOperations = createObjectOperations({ objects, signer });
  const bucketOperations = createBucketOperations({ objects, signer, region: credentials.region });
  const verifyForm = createFormVerifier({ credentials, signer });
  const postObject = createPostOperation({ objects, verifyForm, now });
  const onObject: Readonly<Record<string, Operation>> = {
    GET: objectOperations.getObject,
    HEAD: objectOperations.headObject,
    PUT: (request, authentication) =>
      request.setting('x-amz-copy-source') === undefined
        ? objectOperations.putObject(request, authentication)
        : objectOperations.copyObject(request),
    DELETE: objectOperations.deleteObject,
  };
  const onBucket: Readonly<Record<string, Operation>> = {
    GET: bucketOperations.listObjects,
    HEAD: bucketOperations.headBucket,
    PUT: bucketOperations.createBucket,
    POST: bucketOperations.deleteObjects,
  };

  return async function route(request: StoreRequest): Promise<Reply> {
    const { method, bucket, key } = request;
    if (method === 'POST' && key === '' && request.query.length === 0) {
      assertBucketName(bucket);
      return await postObject(request);
    }
    const authentication = authenticate(request);
    request.admit(authentication.presigned ? 'grant' : 'service');
    if (bucket === '' && key === '') throw new S3Error('NotImplemented');
    assertBucketName(bucket);
    if (key !== '') assertKey(key);
    assertSupported(request);
    const operation = (key === '' ? onBucket : onObject)[method];
    if (operation === undefined)
      throw new S3Error(method === 'DELETE' ? 'NotImplemented' : 'MethodNotAllowed');
    return await operation(request, authentication);
  };
}

function assertSupported(request: StoreRequest): void {
  const names = request.query.map(({ name }) => name);
  const unsupported =
    names.find((name) => OTHER_OPERATIONS.has(name) || (name === 'versionId' && request.method === 'PUT')) ??
    [...request.headers.keys()].find((name) => UNSUPPORTED_HEADERS.test(name));
  const isDelete = request.method === 'POST' && request.key === '' && names.includes('delete');
  if (unsupported === undefined && (request.method !== 'POST' || isDelete)) return;
  if (unsupported === undefined) throw new S3Error('MethodNotAllowed');
  throw new S3Error('NotImplemented', { details: { Header: unsupported } });
}
