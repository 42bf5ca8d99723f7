// Step 3 of an upload: POST /v1/{workspace_id}/upload/confirm, repeated, raced and misused.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { openBucket } from '../support/bucket.ts';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { type DocumentRecord, freshName, md5 } from '../support/library.ts';
import { UPLOAD_BYTES_MAX } from '../support/limits.ts';
import type { Setting } from '../support/setting.ts';
import { upload } from '../support/uploads.ts';

/** The clock that files are stamped with may be some milliseconds behind. */
const CLOCK_LAG_MS = 100;

async function nextSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1000);
  while (Math.floor((Date.now() - CLOCK_LAG_MS) / 1000) <= second) await Bun.sleep(20);
}

export function describeConfirm(setting: () => Setting, environment: () => Record<string, string>): void {
  const keyOf = (storageUrl: string): string => storageUrl.replace(/^s3:\/\/[^/]+\//, '');

  describe('confirming an upload', () => {
    test('answers 201 with every field of the record, unset ones as null', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored({ name: 'Report.PDF' }, 'twelve bytes');
      expect(record).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/),
        owner_id: expect.stringMatching(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/),
        name: 'Report.PDF',
        storage_url: expect.stringMatching(/^s3:/),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        file_size: 12,
        file_type: 'pdf',
        tags: null,
        categories: null,
        status: 'private',
        file_hash: md5('twelve bytes'),
        summary: null,
        access: null,
        slots: null,
      });
      expect(await library.read(record.id)).toEqual(record);
    });

    test('moves the file from its temporary key to the final one', async () => {
      const { admin, workspace } = setting();
      const temp_key = await admin.uploaded('moved');
      const body = { temp_key, document_metadata: { name: 'moved.txt' } };
      const record = bodyOf<DocumentRecord>(await admin.confirm(body), 201);
      const bucketName = environment()['S3_BUCKET'] ?? 'atrium';
      expect(record.storage_url).toBe(`s3://${bucketName}/${workspace}/${record.id}.txt`);

      const bucket = openBucket(environment());
      if (bucket === undefined) return;
      expect(await bucket.keys(keyOf(record.storage_url))).toHaveLength(1);
      await eventually('the temporary object to go', async () => (await bucket.keys(temp_key)).length === 0);
    });

    test('again answers the same record with 201, whatever the second request says', async () => {
      const { admin } = setting();
      const temp_key = await admin.uploaded();
      const first = await admin.confirm({ temp_key, document_metadata: { name: 'once.txt', tags: ['a'] } });
      const record = bodyOf<DocumentRecord>(first, 201);
      const again = await admin.confirm({ temp_key, document_metadata: { name: 'once.txt', tags: ['a'] } });
      expect(bodyOf<DocumentRecord>(again, 201)).toEqual(record);
      const other = await admin.confirm({ temp_key, folder: 'x', document_metadata: { name: 'other.txt' } });
      expect(bodyOf<DocumentRecord>(other, 201)).toEqual(record);
    });

    test('twenty times at once makes one record with one object', async () => {
      const { library } = await setting().people.person();
      const folder = crypto.randomUUID();
      const temp_key = await library.uploaded('raced');
      const body = { temp_key, folder, document_metadata: { name: freshName() } };
      const answers = await Promise.all(Array.from({ length: 20 }, () => library.confirm(body)));
      const records = answers.map((answer) => bodyOf<DocumentRecord>(answer, 201));
      const [record] = records;
      if (record === undefined) throw new Error('no answer');
      for (const each of records) expect(each).toEqual(record);
      expect(await (await fetch(await library.link(record.id))).text()).toBe('raced');

      expectStatus(await library.bin(record.id), 204);
      expect((await library.binned()).count).toBe(1);
      const bucket = openBucket(environment());
      if (bucket === undefined) return;
      const below = `${setting().workspace}/${folder}/`;
      await eventually('the losers’ copies to go', async () => (await bucket.keys(below)).length === 1);
      expect(await bucket.keys(below)).toEqual([keyOf(record.storage_url)]);
    });

    test('takes the file as it is then, when it was posted again before', async () => {
      const { admin } = setting();
      const descriptor = await admin.descriptor();
      await upload(descriptor, 'early draft');
      await upload(descriptor, 'the final text');
      const body = { temp_key: descriptor.fields['key'], document_metadata: { name: 'text.txt' } };
      const record = bodyOf<DocumentRecord>(await admin.confirm(body), 201);
      expect([record.file_size, record.file_hash]).toEqual([14, md5('the final text')]);
    });

    test('of another file, posted with the same form, makes a document of its own', async () => {
      const { library } = await setting().people.person();
      const descriptor = await library.descriptor();
      const temp_key = descriptor.fields['key'] ?? '';
      const confirm = async (name: string) =>
        bodyOf<DocumentRecord>(await library.confirm({ temp_key, document_metadata: { name } }), 201);
      const contents = ['the first', 'the second', 'the third, longer'];
      const records: DocumentRecord[] = [];
      for (const [index, content] of contents.entries()) {
        await upload(descriptor, content);
        const record = await confirm(`${index}.txt`);
        expect(record).toMatchObject({ name: `${index}.txt`, file_hash: md5(content) });
        // Again, while there is nothing new: the last one.
        expect(await confirm('other.txt')).toEqual(record);
        records.push(record);
      }
      expect(new Set(records.map(({ id }) => id)).size).toBe(3);
      for (const [index, record] of records.entries()) {
        expect(await library.read(record.id)).toEqual(record);
        expect(await (await fetch(await library.link(record.id))).text()).toBe(contents[index] ?? '');
      }
    });

    test('of the same bytes, posted again with the same form, makes a document of its own', async () => {
      const { library } = await setting().people.person();
      const descriptor = await library.descriptor();
      const temp_key = descriptor.fields['key'] ?? '';
      const ids: string[] = [];
      for (const name of ['one.txt', 'two.txt', 'three.txt']) {
        await upload(descriptor, 'the same bytes');
        const record = bodyOf<DocumentRecord>(
          await library.confirm({ temp_key, document_metadata: { name } }),
          201,
        );
        expect(record.name).toBe(name);
        ids.push(record.id);
        // Real stores without versions tell times by whole seconds: there, what is posted within one is the same file.
        if (openBucket(environment()) !== undefined) await nextSecond();
      }
      expect(new Set(ids).size).toBe(3);
    });

    test('many times at once, file after file with one form, makes one document of each file', async () => {
      const { library } = await setting().people.person();
      const descriptor = await library.descriptor();
      const temp_key = descriptor.fields['key'];
      const found: string[] = [];
      for (let round = 0; round < 8; round++) {
        await upload(descriptor, `round ${round}`);
        const body = { temp_key, document_metadata: { name: `${round}.txt` } };
        const answers = await Promise.all(Array.from({ length: 5 }, () => library.confirm(body)));
        const records = answers.map((answer) => bodyOf<DocumentRecord>(answer, 201));
        for (const record of records) {
          expect(record).toEqual(records[0] as DocumentRecord);
          expect(record).toMatchObject({ name: `${round}.txt`, file_hash: md5(`round ${round}`) });
        }
        found.push(records[0]?.id ?? '');
      }
      expect(new Set(found).size).toBe(8);
    });

    test("is refused with 404 for a key that was never uploaded to, or that can't be one", async () => {
      const { admin, workspace } = setting();
      const { fields } = await admin.descriptor();
      const own = `temp/${workspace}`;
      for (const temp_key of [
        fields['key'],
        `${own}/${crypto.randomUUID()}`,
        `${own}/x`,
        `${own}/`,
        `${own}/a/../b`,
      ])
        expectRefusal(await admin.confirm({ temp_key, document_metadata: { name: 'a.txt' } }), 404);
    });

    test("is refused with 403 for another workspace's temporary key, and for keys outside the own uploads", async () => {
      const { admin, workspace } = setting();
      const elsewhere = await setting().elsewhere();
      const stranger = await elsewhere.people.person();
      const foreign = await stranger.library.uploaded();
      const own = await admin.stored();
      const outside = [`temp/${workspace}x/${crypto.randomUUID()}`, `/temp/${workspace}/x`, 'temp/', '', 'x'];
      for (const temp_key of [foreign, keyOf(own.storage_url), ...outside])
        expectRefusal(await admin.confirm({ temp_key, document_metadata: { name: 'a.txt' } }), 403);
      expectStatus(
        await stranger.library.confirm({ temp_key: foreign, document_metadata: { name: 'a.txt' } }),
        201,
      );
    });

    test('may be done by somebody else of the workspace, who then owns the document', async () => {
      const { people } = setting();
      const [one, other] = [await people.person(), await people.person()];
      const temp_key = await one.library.uploaded();
      const body = { temp_key, document_metadata: { name: freshName() } };
      const record = bodyOf<DocumentRecord>(await other.library.confirm(body), 201);
      expectRefusal(await one.library.confirm(body), 404);
      expectRefusal(await one.library.detail(record.id), 404);
      expect(await other.library.read(record.id)).toEqual(record);
    });

    test('is refused with 413 for an object that came past the form and is too large', async () => {
      const bucket = openBucket(environment());
      if (bucket === undefined) return;
      const { admin, workspace } = setting();
      const temp_key = `temp/${workspace}/${crypto.randomUUID()}`;
      await bucket.put(temp_key, new Uint8Array(UPLOAD_BYTES_MAX + 1));
      expectRefusal(await admin.confirm({ temp_key, document_metadata: { name: 'large.bin' } }), 413);
    });
  });
}
