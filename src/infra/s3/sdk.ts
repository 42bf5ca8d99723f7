// The SDK's client of the object store. It is loaded with the first call, form or URL.

import { S3 } from '@aws-sdk/client-s3';
import { traceHeaders, withSpan } from '../../core/tracing.ts';

export type SigningIdentity = {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
  bucket: string;
};

/** It neither makes nor checks checksums that S3 does not require. */
export const createSdkClient = (identity: SigningIdentity, endpoint: string): S3 =>
  new S3({
    endpoint,
    region: identity.region,
    credentials: { accessKeyId: identity.accessKeyId, secretAccessKey: identity.secretAccessKey },
    forcePathStyle: true,
    maxAttempts: 3,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });

/**
 * As `createSdkClient`, with a span for each call, around its retries, by the semantic conventions for S3. The headers of the trace are
 * added after the signature, because proxies may change them.
 */
export function createTracedClient(identity: SigningIdentity, endpoint: string): S3 {
  const client = createSdkClient(identity, endpoint);
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        const method = commandName.replace(/Command$/, '');
        const { Key: key } = args.input as { Key?: string };
        const attributes = {
          'rpc.system': 'aws-api',
          'rpc.service': 'S3',
          'rpc.method': method,
          'aws.s3.bucket': identity.bucket,
          'aws.s3.key': key,
        };
        return withSpan(
          `S3/${method}`,
          () => ({ kind: 'client', attributes }),
          () => next(args),
        );
      },
    { name: 'traceCall', step: 'initialize' },
  );
  client.middlewareStack.add(
    (next) => (args) => {
      const { request } = args as { request: { headers: Record<string, string> } };
      Object.assign(request.headers, traceHeaders());
      return next(args);
    },
    { name: 'traceHeaders', step: 'finalizeRequest', priority: 'low' },
  );
  return client;
}
