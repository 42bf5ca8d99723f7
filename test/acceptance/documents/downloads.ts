// GET /v1/{workspace_id}/file/{file_id}/download/url, and the plain GET that the URL authorises.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { EXPIRES_IN_DEFAULT, EXPIRES_IN_MAX } from '../support/limits.ts';
import type { Setting } from '../support/setting.ts';

/** The file name that a browser saves under: RFC 6266, the extended form of RFC 8187. */
function savedName(response: Response): string | undefined {
  const disposition = response.headers.get('content-disposition') ?? '';
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  return encoded === undefined ? undefined : decodeURIComponent(encoded);
}

export function describeDownloads(setting: () => Setting): void {
  describe('a download URL', () => {
    test('is a JSON string, and a plain GET of it gives the bytes', async () => {
      const { admin } = setting();
      const content = crypto.getRandomValues(new Uint8Array(50_000));
      const { id } = await admin.stored({ name: 'random.bin' }, content);
      const response = await fetch(await admin.link(id));
      expect(response.status).toBe(200);
      expect(response.headers.get('content-length')).toBe('50000');
      expect(Buffer.compare(await response.bytes(), content)).toBe(0);
    });

    test('works for an empty file', async () => {
      const { admin } = setting();
      const { id } = await admin.stored({}, new Uint8Array());
      const response = await fetch(await admin.link(id));
      expect([response.status, await response.text()]).toEqual([200, '']);
    });

    test('carries no key, and says how long it lives: an hour, or expires_in up to 7 days', async () => {
      const { library, key } = await setting().people.person();
      const { id } = await library.stored();
      for (const expires_in of [undefined, 1, EXPIRES_IN_MAX]) {
        const link = await library.link(id, expires_in === undefined ? {} : { expires_in });
        expect(link).not.toContain(key);
        expect(new URL(link).searchParams.get('X-Amz-Expires')).toBe(
          String(expires_in ?? EXPIRES_IN_DEFAULT),
        );
      }
    });

    test('is refused with 422 for an expires_in outside 1…604800', async () => {
      const { admin } = setting();
      const { id } = await admin.stored();
      for (const expires_in of [0, -1, EXPIRES_IN_MAX + 1, '1h']) {
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(
          await admin.downloadUrl(id, { expires_in }),
          422,
        );
        expect(detail.map(({ loc }) => loc)).toEqual([['query', 'expires_in']]);
      }
    });

    test('may be used any number of times, also in parts', async () => {
      const { admin } = setting();
      const { id } = await admin.stored({}, '0123456789');
      const link = await admin.link(id);
      const part = async (range: string) => {
        const response = await fetch(link, { headers: { range } });
        return [response.status, await response.text(), response.headers.get('content-range')];
      };
      expect(await part('bytes=2-5')).toEqual([206, '2345', 'bytes 2-5/10']);
      expect(await part('bytes=7-')).toEqual([206, '789', 'bytes 7-9/10']);
      expect(await part('bytes=-3')).toEqual([206, '789', 'bytes 7-9/10']);
      expect((await part('bytes=10-'))[0]).toBe(416);
      expect(await (await fetch(link)).text()).toBe('0123456789');
    });

    test('authorises GET of this one object only: anything else is refused by the store', async () => {
      const { admin } = setting();
      const mine = await admin.stored({}, 'mine');
      const yours = await admin.stored({}, 'yours');
      const link = await admin.link(mine.id);
      const altered = [
        link.replace(mine.id, yours.id),
        link.replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=604800'),
        link.replace(/(X-Amz-Signature=)(.)/, (_, name, digit) => `${name}${digit === '0' ? '1' : '0'}`),
        link.replace(/response-content-disposition=[^&]+/, 'response-content-disposition=inline'),
        link.slice(0, link.indexOf('?')),
      ];
      for (const url of altered) {
        const response = await fetch(url);
        expect([url, response.status]).toEqual([url, 403]);
        expect(await response.text()).not.toContain('yours');
      }
      for (const method of ['PUT', 'DELETE']) expect((await fetch(link, { method })).status).toBe(403);
      expect(await (await fetch(link)).text()).toBe('mine');
    });

    test('expires', async () => {
      const { admin } = setting();
      const { id } = await admin.stored();
      const link = await admin.link(id, { expires_in: 1 });
      await eventually('the URL to expire', async () => (await fetch(link)).status === 403);
    });

    test.each([
      'plain.txt',
      'with blank.txt',
      'Übersicht 日本 😀.pdf',
      `quo"te's \\ (1)*!.txt`,
      'a/b;c=d, e%20.txt',
      'new\nline.txt',
    ])('saves the file under its name: %p', async (name) => {
      const { admin } = setting();
      const { id } = await admin.stored({ name });
      const response = await fetch(await admin.link(id));
      expect(response.status).toBe(200);
      expect(response.headers.get('content-disposition')).toStartWith('attachment;');
      expect(savedName(response)).toBe(name);
    });

    test('saves the file under the new name once it is renamed', async () => {
      const { admin } = setting();
      const { id } = await admin.stored({ name: 'old.txt' });
      expect(savedName(await fetch(await admin.link(id)))).toBe('old.txt');
      expectStatus(await admin.patch(id, { name: 'new.txt' }), 200);
      expect(savedName(await fetch(await admin.link(id)))).toBe('new.txt');
    });

    test('is found by the id in any case', async () => {
      const { admin } = setting();
      const { id } = await admin.stored({}, 'same');
      expect(await (await fetch(await admin.link(id.toUpperCase()))).text()).toBe('same');
    });

    test('is refused with 404 for an id that does not exist, and for a name', async () => {
      const { admin } = setting();
      const { name } = await admin.stored();
      for (const id of [crypto.randomUUID(), name, 'x', '0', '%', '../x'])
        expectRefusal(await admin.downloadUrl(id), 404);
    });

    test('of a private document goes to its owner, curators and admins alone; to others it is 404', async () => {
      const { admin, people } = setting();
      const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
      const hidden = await owner.library.stored({ access: { curators: [curator.email] } });
      const shown = await owner.library.stored({ status: 'public' });
      expectRefusal(await other.library.downloadUrl(hidden.id), 404);
      for (const library of [owner.library, curator.library, admin])
        expectStatus(await library.downloadUrl(hidden.id), 200);
      expectStatus(await other.library.downloadUrl(shown.id), 200);
    });

    test('follows a change of access at once', async () => {
      const { people } = setting();
      const [owner, curator] = [await people.person(), await people.person()];
      const { id } = await owner.library.stored();
      expectRefusal(await curator.library.downloadUrl(id), 404);
      expectStatus(await owner.library.patch(id, { access: { curators: [curator.email] } }), 200);
      expectStatus(await curator.library.downloadUrl(id), 200);
      expectStatus(await owner.library.patch(id, { access: null }), 200);
      expectRefusal(await curator.library.downloadUrl(id), 404);
    });
  });
}
