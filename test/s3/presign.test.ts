// What forms and URLs carry, for each profile, and that stores take what was signed, and nothing else.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { createObjectStore, type ObjectStore } from '../../src/infra/s3/client.ts';
import { FORM_PROFILES, type FormProfile } from '../../src/infra/s3/form-profiles.ts';
import { createPresigner } from '../../src/infra/s3/presign.ts';
import { postFile } from '../acceptance/support/uploads.ts';
import { BUCKET, CREDENTIALS, REGION, startTestStore } from '../object-store/fixture.ts';
import { missingStore, STORES, type StoreName, startRealStore } from '../support/object-stores.ts';

const identity = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'eu-central-1',
  bucket: 'atrium',
};
const ENDPOINT = 'https://s3.example.com:9000';
const presignerOf = (profile: FormProfile = 'standard') => createPresigner(identity, ENDPOINT, profile);

type Policy = { expiration: string; conditions: unknown[] };
const policyOf = (policy = ''): Policy => JSON.parse(Buffer.from(policy, 'base64').toString()) as Policy;

const V4 = ['x-amz-algorithm', 'x-amz-credential', 'x-amz-date', 'x-amz-signature'];
const NAMES = ['key', 'bucket', 'Content-Type', 'StorageAccessKeyId', 'policy', 'signature', ...V4];
const BASE = ['bucket', 'content-length-range', 'content-type', 'key', ...V4.slice(0, 3)];

/** The names that the policy has conditions for. */
const coveredBy = ({ conditions }: Policy): string[] =>
  conditions
    .map((condition) => {
      if (!Array.isArray(condition)) return Object.keys(condition as object)[0] ?? '';
      return String(condition[0] === 'content-length-range' ? condition[0] : condition[1]).replace('$', '');
    })
    .map((name) => name.toLowerCase())
    .sort();

describe('a form has the four fields of the interface and those of its profile, each once', () => {
  const profiles: Record<FormProfile, { fields: string[]; conditions: string[] }> = {
    standard: {
      fields: [...NAMES, 'AWSAccessKeyId'],
      conditions: [...BASE, 'awsaccesskeyid', 'signature', 'storageaccesskeyid'],
    },
    aws: { fields: NAMES, conditions: [...BASE, 'signature', 'storageaccesskeyid'] },
    seaweedfs: { fields: [...NAMES, 'AWSAccessKeyId'], conditions: BASE },
  };
  test.each(FORM_PROFILES)('%s', async (profile) => {
    const order = { key: 'temp/acme/1', contentType: 'text/plain', expiresInSeconds: 600, bytesMax: 10 };
    const begun = Math.floor(Date.now() / 1000) * 1000;
    const { url, fields } = await presignerOf(profile).form(order);
    const policy = policyOf(fields['policy']);
    expect(url).toBe(`${ENDPOINT}/atrium`);
    expect(Object.keys(fields).sort()).toEqual(profiles[profile].fields.sort());
    expect(coveredBy(policy)).toEqual(profiles[profile].conditions.sort());
    expect(policy.conditions).toContainEqual(['content-length-range', 0, 10]);
    expect(fields).toMatchObject({
      key: 'temp/acme/1',
      bucket: 'atrium',
      'Content-Type': 'text/plain',
      StorageAccessKeyId: identity.accessKeyId,
      'x-amz-algorithm': 'AWS4-HMAC-SHA256',
      signature: createHmac('sha1', identity.secretAccessKey)
        .update(fields['policy'] ?? '')
        .digest('base64'),
    });
    const lifeMs = Date.parse(policy.expiration) - begun;
    expect(lifeMs).toBeWithin(600_000, 600_000 + Date.now() - begun + 1);
    const day = (fields['x-amz-date'] ?? '').slice(0, 8);
    expect(fields['x-amz-credential']).toBe(`${identity.accessKeyId}/${day}/eu-central-1/s3/aws4_request`);
  });
});

const anyText = (maxLength: number) =>
  fc.string({ unit: 'binary', minLength: 1, maxLength }).filter((text) => text.isWellFormed());
/** URLs drop segments of dots; keys of ours never have them. */
const keyText = anyText(60).filter((key) => !key.split('/').some((segment) => /^\.{0,2}$/.test(segment)));

test('a download URL names its key, type and life, and is signed at the moment that it is given', async () => {
  const presigner = presignerOf();
  const inputs = fc.record({
    key: keyText,
    fileName: anyText(40),
    inline: fc.option(fc.record({ contentType: anyText(40) }), { nil: undefined }),
    expiresInSeconds: fc.integer({ min: 1, max: 604_800 }),
    now: fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
  });
  await fc.assert(
    fc.asyncProperty(inputs, async ({ key, fileName, inline, expiresInSeconds, now }) => {
      const link = await presigner.downloadUrl({ key, fileName, inline, expiresInSeconds, now });
      const { origin, pathname, searchParams } = new URL(link);
      expect(origin).toBe(ENDPOINT);
      expect(decodeURIComponent(pathname)).toBe(`/atrium/${key}`);
      expect(searchParams.get('response-content-type')).toBe(inline?.contentType ?? null);
      expect(searchParams.get('X-Amz-Expires')).toBe(String(expiresInSeconds));
      expect(searchParams.get('X-Amz-SignedHeaders')).toBe('host');
      const stamp = `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
      expect(searchParams.get('X-Amz-Date')).toBe(stamp);
    }),
  );
});

test('a file name cannot end the quotes that it stands in, and is told exactly beside them', async () => {
  const { downloadUrl } = presignerOf();
  const disposition = async (fileName: string): Promise<string | null> => {
    const url = await downloadUrl({ key: 'a', fileName, expiresInSeconds: 1, now: new Date(0) });
    return new URL(url).searchParams.get('response-content-disposition');
  };
  expect(await disposition('a"; filename="b.exe')).toBe(
    `attachment; filename="a_; filename=_b.exe"; filename*=UTF-8''a%22%3B%20filename%3D%22b.exe`,
  );
  expect(await disposition('a\\')).toBe(`attachment; filename="a_"; filename*=UTF-8''a%5C`);
  expect(await disposition('../50%\r\né')).toBe(
    `attachment; filename=".._50____"; filename*=UTF-8''..%2F50%25%0D%0A%C3%A9`,
  );
  expect(await disposition("it's (1)*.txt")).toBe(
    `attachment; filename="it's (1)*.txt"; filename*=UTF-8''it%27s%20%281%29%2A.txt`,
  );
});

/** A store of its own, as the service uses it. */
async function startStore(name: StoreName) {
  if (name === 'embedded') {
    const store = await startTestStore();
    return { endpoint: store.endpoint, credentials: CREDENTIALS, stop: () => store[Symbol.asyncDispose]() };
  }
  const { environment, stop } = await startRealStore(name);
  const { S3_ENDPOINT = '', S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '' } = environment;
  const credentials = { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY };
  return { endpoint: S3_ENDPOINT, credentials, stop };
}

/** The embedded store takes the form of every profile; a real one that of its own. */
const cases = STORES.flatMap((store) =>
  (store === 'embedded' ? FORM_PROFILES : (['standard'] as const)).map((profile) => ({ store, profile })),
);

describe.each(cases)('$store, $profile', ({ store: name, profile }) => {
  const reason = missingStore(name);
  let store: Awaited<ReturnType<typeof startStore>>;
  let objects: ObjectStore;
  beforeAll(async () => {
    if (reason !== undefined) return;
    store = await startStore(name);
    const { endpoint, credentials } = store;
    objects = createObjectStore({
      ...credentials,
      endpoint,
      publicEndpoint: endpoint,
      region: REGION,
      bucket: BUCKET,
      formProfile: profile,
    });
    await objects.ensureBucket();
  });
  afterAll(async () => {
    objects?.close();
    await store?.stop();
  });

  const newForm = (expiresInSeconds = 60) =>
    objects.form({
      key: `temp/acme/${crypto.randomUUID()}`,
      contentType: 'text/plain',
      expiresInSeconds,
      bytesMax: 10,
    });
  const statusOf = async (posting: Promise<Response>): Promise<number> => {
    const answer = await posting;
    await answer.arrayBuffer();
    return answer.status;
  };

  test.skipIf(reason !== undefined)('takes a form as it was signed, up to its size', async () => {
    const form = await newForm();
    expect(await statusOf(postFile(form, '0123456789'))).toBe(204);
    const stored = await objects.head(form.fields['key'] ?? '');
    expect(stored).toMatchObject({ size: 10, contentType: 'text/plain' });
    expect(await statusOf(postFile(await newForm(), '0123456789+'))).toBe(400);
  });

  test.skipIf(reason !== undefined)('refuses one that was changed, or has expired', async () => {
    const form = await newForm();
    const policy = policyOf(form.fields['policy']);
    const wider = policy.conditions.map((condition) =>
      Array.isArray(condition) && condition[0] === 'content-length-range'
        ? [condition[0], 0, 2 ** 40]
        : condition,
    );
    const changes: Record<string, string>[] = [
      { key: 'temp/acme/another' },
      { 'Content-Type': 'text/html' },
      { policy: btoa(JSON.stringify({ ...policy, conditions: wider })) },
      { signature: 'x', 'x-amz-signature': '0'.repeat(64) },
    ];
    for (const change of changes)
      expect([change, await statusOf(postFile(form, 'text', change))]).toEqual([change, 403]);
    expect(await statusOf(postFile(await newForm(-60), 'text'))).toBe(403);
    expect(await objects.head(form.fields['key'] ?? '')).toBeUndefined();
  });

  test.skipIf(reason !== undefined)('takes bytes by a URL, and gives them by another', async () => {
    const key = `acme/a b+c/é'(1)*~&=?#%.txt`;
    const sign = { key, expiresInSeconds: 60, now: new Date() };
    const put = await fetch(await objects.uploadUrl(sign), { method: 'PUT', body: 'bytes' });
    expect(put.status).toBe(200);
    const inline = { contentType: 'text/plain' };
    const link = await objects.downloadUrl({ ...sign, fileName: `it's "é".txt`, inline });
    const got = await fetch(link);
    expect([got.status, await got.text(), got.headers.get('content-type')]).toEqual([
      200,
      'bytes',
      'text/plain',
    ]);
    expect(got.headers.get('content-disposition')).toBe(
      `inline; filename="it's ___.txt"; filename*=UTF-8''it%27s%20%22%C3%A9%22.txt`,
    );
    const earlier = { ...sign, fileName: 'a', now: new Date(Date.now() - 120_000) };
    expect(await statusOf(fetch(await objects.downloadUrl(earlier)))).toBe(403);
    const forged = link.replace('response-content-type=text%2Fplain', 'response-content-type=text%2Fhtml');
    expect(forged).not.toBe(link);
    expect(await statusOf(fetch(forged))).toBe(403);
    expect(await statusOf(fetch(await objects.uploadUrl(sign), { method: 'DELETE' }))).toBe(403);
  });
});
