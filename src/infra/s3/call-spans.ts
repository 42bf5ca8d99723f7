// The spans of the object store's calls, by the semantic conventions for S3, and the trace in the headers of each request.

import type { S3Client } from '@aws-sdk/client-s3';
import { traceHeaders, withSpan } from '../../core/tracing.ts';

/** One span a call, around its retries. The headers are added behind the signature, which proxies would break otherwise. */
export function traceCalls(client: S3Client, bucket: string): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        const method = commandName.replace(/Command$/, '');
        const { Key: key } = args.input as { Key?: string };
        const attributes = {
          'rpc.system': 'aws-api',
          'rpc.service': 'S3',
          'rpc.method': method,
          'aws.s3.bucket': bucket,
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
}
