// Steps 1 and 2 of an upload: GET /v1/{workspace_id}/presigned/url, and the form that the client posts.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { bodyOf } from '../support/caller.ts';
import { md5 } from '../support/library.ts';
import { EXPIRES_IN_DEFAULT, EXPIRES_IN_MAX, UPLOAD_BYTES_MAX } from '../support/limits.ts';
import type { Setting } from '../support/setting.ts';
import { type Descriptor, postFile, upload } from '../support/uploads.ts';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

type Policy = { expiration: string; conditions: unknown[] };
const policyOf = ({ fields }: Descriptor): Policy => JSON.parse(atob(fields['policy'] ?? ''));

const secondsLeft = (descriptor: Descriptor): number =>
  (Date.parse(policyOf(descriptor).expiration) - Date.now()) / 1000;

export function describeUploads(setting: () => Setting, environment: () => Record<string, string>): void {
  describe('the upload descriptor', () => {
    test("names the store's bucket and the interface's four fields", async () => {
      const { url, fields } = await setting().admin.descriptor();
      const origin = environment()['S3_ENDPOINT'] ?? new URL(url).origin;
      expect(url).toBe(`${origin}/${environment()['S3_BUCKET'] ?? 'atrium'}`);
      expect(fields).toMatchObject({
        key: expect.stringMatching(new RegExp(`^temp/${setting().workspace}/${UUID}$`)),
        StorageAccessKeyId: expect.stringMatching(/./),
        policy: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/),
        signature: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/),
      });
    });

    test('has another temporary key each time', async () => {
      const given = await Promise.all(Array.from({ length: 20 }, () => setting().admin.descriptor()));
      expect(new Set(given.map(({ fields }) => fields['key'])).size).toBe(20);
    });

    test('lives for an hour, or for as long as expires_in says, up to 7 days', async () => {
      const { admin } = setting();
      for (const expires_in of [undefined, 1, 60, EXPIRES_IN_MAX]) {
        const descriptor = await admin.descriptor(expires_in === undefined ? {} : { expires_in });
        const wanted = expires_in ?? EXPIRES_IN_DEFAULT;
        expect(secondsLeft(descriptor)).toBeLessThanOrEqual(wanted + 1);
        expect(secondsLeft(descriptor)).toBeGreaterThan(wanted - 30);
      }
    });

    test('is refused with 422 for an expires_in outside 1…604800', async () => {
      for (const expires_in of [0, -1, EXPIRES_IN_MAX + 1, 'soon']) {
        const answer = await setting().admin.presign({ expires_in });
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(answer, 422);
        expect(detail.map(({ loc }) => loc)).toEqual([['query', 'expires_in']]);
      }
    });
  });

  describe('posting the file', () => {
    test('with every field and the file last is answered 204 by the store', async () => {
      const descriptor = await setting().admin.descriptor();
      const response = await postFile(descriptor, 'some text');
      expect([response.status, await response.text()]).toEqual([204, '']);
    });

    test('needs no credential of the service', async () => {
      const { key, library } = await setting().people.person();
      const { url, fields } = await library.descriptor();
      expect(JSON.stringify(fields)).not.toContain(key);
      await upload({ url, fields }, 'some text');
    });

    test('takes files of any bytes, empty ones and those of exactly the largest size', async () => {
      const { admin } = setting();
      const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      for (const content of [new Uint8Array(), everyByte, new Uint8Array(UPLOAD_BYTES_MAX).fill(7)]) {
        const { file_size, file_hash } = await admin.stored({}, content);
        expect({ file_size, file_hash }).toEqual({ file_size: content.length, file_hash: md5(content) });
      }
    });

    test('is refused by the store for a file that is one byte too large, of which nothing is kept', async () => {
      const { admin } = setting();
      const descriptor = await admin.descriptor();
      const response = await postFile(descriptor, new Uint8Array(UPLOAD_BYTES_MAX + 1));
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('EntityTooLarge');
      const body = { temp_key: descriptor.fields['key'], document_metadata: { name: 'large.bin' } };
      expect((await admin.confirm(body)).status).toBe(404);
    });

    test('is refused by the store under another key than the descriptor names', async () => {
      const descriptor = await setting().admin.descriptor();
      for (const key of [
        `temp/${setting().workspace}/${crypto.randomUUID()}`,
        `${setting().workspace}/mine.txt`,
        'x',
      ])
        expect((await postFile(descriptor, 'some text', { key })).status).toBe(403);
    });

    test('is refused by the store when the policy was tampered with', async () => {
      const descriptor = await setting().admin.descriptor();
      const policy = policyOf(descriptor);
      policy.conditions = policy.conditions.map((condition) =>
        Array.isArray(condition) && condition[0] === 'content-length-range'
          ? [condition[0], 0, 2 ** 40]
          : condition,
      );
      const response = await postFile(descriptor, 'some text', { policy: btoa(JSON.stringify(policy)) });
      expect(response.status).toBe(403);
    });

    test('is refused by the store when the signatures are not the right ones', async () => {
      const descriptor = await setting().admin.descriptor();
      // Which of the two counts differs from store to store.
      const names = ['signature', 'x-amz-signature'].filter((name) => name in descriptor.fields);
      const forged = (signature: string) => signature.replace(/^./, (first) => (first === '0' ? '1' : '0'));
      const fields = Object.fromEntries(names.map((name) => [name, forged(descriptor.fields[name] ?? '')]));
      expect((await postFile(descriptor, 'some text', fields)).status).toBe(403);
    });

    test('is refused by the store once the form has expired', async () => {
      const descriptor = await setting().admin.descriptor({ expires_in: 1 });
      await eventually('the form to expire', async () => (await postFile(descriptor, 'late')).status === 403);
    });

    test('may be repeated with one form: the last file is the one that counts', async () => {
      const { admin } = setting();
      const descriptor = await admin.descriptor();
      for (const content of ['first', 'second', 'third']) await upload(descriptor, content);
      const body = { temp_key: descriptor.fields['key'], document_metadata: { name: 'thrice.txt' } };
      const record = bodyOf<{ id: string; file_hash: string }>(await admin.confirm(body), 201);
      expect(record.file_hash).toBe(md5('third'));
      expect(await (await fetch(await admin.link(record.id))).text()).toBe('third');
    });
  });
}
