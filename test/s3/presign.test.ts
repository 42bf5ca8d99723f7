// Our signatures are the official presigners' signatures, for any key, name, region and moment.

import { afterEach, describe, expect, setSystemTime, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { S3Client } from '@aws-sdk/client-s3';
import { createPresignedPost } from '@aws-sdk/s3-presigned-post';
import { S3RequestPresigner } from '@aws-sdk/s3-request-presigner';
import fc from 'fast-check';
import { FORM_PROFILES } from '../../src/infra/s3/form-profiles.ts';
import { createPresigner } from '../../src/infra/s3/presign.ts';

const identity = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'eu-central-1',
  bucket: 'atrium',
  publicEndpoint: 'https://s3.example.com:9000',
};
/** The hash as the official signer wants it: plain or keyed. */
class Sha256 {
  private readonly hash: ReturnType<typeof createHash>;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.hash =
      secret === undefined ? createHash('sha256') : (createHmac('sha256', secret as string) as never);
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.hash.update(data as string);
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.hash.digest());
  }
  reset(): void {}
}

const client = new S3Client({
  endpoint: identity.publicEndpoint,
  region: identity.region,
  credentials: { accessKeyId: identity.accessKeyId, secretAccessKey: identity.secretAccessKey },
  forcePathStyle: true,
});

afterEach(() => {
  setSystemTime();
});

const anyText = (maxLength: number) =>
  fc.string({ unit: 'binary', minLength: 1, maxLength }).filter((text) => text.isWellFormed());
/** URLs drop segments of dots; keys of ours never have them. */
const keyText = anyText(60).filter((key) => !key.split('/').some((segment) => /^\.{0,2}$/.test(segment)));

test('a download URL is what the official presigner makes', async () => {
  const presigner = createPresigner(identity, 'standard');
  const official = new S3RequestPresigner({
    region: identity.region,
    credentials: { accessKeyId: identity.accessKeyId, secretAccessKey: identity.secretAccessKey },
    sha256: Sha256,
  });
  const inputs = fc.record({
    key: keyText,
    fileName: anyText(40),
    inline: fc.option(fc.record({ contentType: anyText(40) }), { nil: undefined }),
    expiresInSeconds: fc.integer({ min: 1, max: 604_800 }),
    now: fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
  });
  await fc.assert(
    fc.asyncProperty(inputs, async ({ key, fileName, inline, expiresInSeconds, now }) => {
      const url = new URL(presigner.downloadUrl({ key, fileName, inline, expiresInSeconds, now }));
      const signed = await official.presign(
        {
          method: 'GET',
          protocol: 'https:',
          hostname: 's3.example.com',
          port: 9000,
          path: url.pathname,
          query: {
            'response-content-disposition': url.searchParams.get('response-content-disposition') ?? '',
            ...(inline === undefined ? {} : { 'response-content-type': inline.contentType }),
          },
          headers: {},
        } as never,
        { expiresIn: expiresInSeconds, signingDate: now },
      );
      expect(Object.fromEntries(url.searchParams)).toEqual(signed.query as Record<string, string>);
    }),
  );
});

test('a file name cannot end the quotes that it stands in, and is told exactly beside them', () => {
  const { downloadUrl } = createPresigner(identity, 'standard');
  const disposition = (fileName: string): string | null => {
    const url = downloadUrl({ key: 'a', fileName, expiresInSeconds: 1, now: new Date(0) });
    return new URL(url).searchParams.get('response-content-disposition');
  };
  expect(disposition('a"; filename="b.exe')).toBe(
    `attachment; filename="a_; filename=_b.exe"; filename*=UTF-8''a%22%3B%20filename%3D%22b.exe`,
  );
  expect(disposition('a\\')).toBe(`attachment; filename="a_"; filename*=UTF-8''a%5C`);
  expect(disposition('../50%\r\né')).toBe(
    `attachment; filename=".._50____"; filename*=UTF-8''..%2F50%25%0D%0A%C3%A9`,
  );
  expect(disposition("it's (1)*.txt")).toBe(
    `attachment; filename="it's (1)*.txt"; filename*=UTF-8''it%27s%20%281%29%2A.txt`,
  );
});

test('a form carries the signature that the official package makes of the same policy', async () => {
  const now = new Date('2026-03-04T05:06:07Z');
  setSystemTime(now);
  const presigner = createPresigner(identity, 'standard');
  const { url, fields } = presigner.form({
    key: 'temp/acme/1',
    contentType: 'text/plain',
    expiresInSeconds: 600,
    bytesMax: 10,
    now,
  });
  const policy = JSON.parse(Buffer.from(fields['policy'] ?? '', 'base64').toString()) as {
    expiration: string;
    conditions: unknown[];
  };
  expect(url).toBe('https://s3.example.com:9000/atrium');
  expect(policy.expiration).toBe('2026-03-04T05:16:07.000Z');
  const theirs = await createPresignedPost(client, {
    Bucket: identity.bucket,
    Key: 'temp/acme/1',
    Expires: 600,
    Conditions: [['content-length-range', 0, 10]],
  });
  expect(fields['x-amz-credential']).toBe(theirs.fields['X-Amz-Credential'] ?? '');
  expect(fields['x-amz-date']).toBe(theirs.fields['X-Amz-Date'] ?? '');
  expect(fields['x-amz-algorithm']).toBe(theirs.fields['X-Amz-Algorithm'] ?? '');
});

describe('every profile carries the four fields of the interface', () => {
  for (const profile of FORM_PROFILES) {
    test(profile, () => {
      const presigner = createPresigner(identity, profile);
      const { fields } = presigner.form({
        key: 'temp/a/b',
        contentType: 'text/plain',
        expiresInSeconds: 1,
        bytesMax: 1,
        now: new Date(),
      });
      for (const name of ['key', 'StorageAccessKeyId', 'policy', 'signature'])
        expect(fields[name]).toBeString();
    });
  }
});
