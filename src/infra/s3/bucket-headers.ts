import { HeadBucketCommand, type S3Client } from '@aws-sdk/client-s3';

/** The headers of the answer to HeadBucket, which the SDK does not hand out. Names are in lower case. */
export async function headersOfBucket(
  client: S3Client,
  bucket: string,
  options: { abortSignal: AbortSignal },
): Promise<Record<string, string>> {
  const command = new HeadBucketCommand({ Bucket: bucket });
  let headers: Record<string, string> = {};
  command.middlewareStack.add(
    (next) => async (given) => {
      const answer = await next(given);
      ({ headers } = answer.response as { headers: Record<string, string> });
      return answer;
    },
    { step: 'deserialize' },
  );
  await client.send(command, options);
  return headers;
}
