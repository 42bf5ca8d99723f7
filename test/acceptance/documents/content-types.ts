// What a file is said to be: ?content_type= of the form, else the extension; and ?disposition= of a download URL.

import { describe, expect, test } from 'bun:test';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { type DocumentRecord, freshName, type Library } from '../support/library.ts';
import type { Setting } from '../support/setting.ts';
import { postFile, upload } from '../support/uploads.ts';

const SHOWN: [name: string, type: string][] = [
  ['a.pdf', 'application/pdf'],
  ['a.PNG', 'image/png'],
  ['a.jpg', 'image/jpeg'],
  ['a.jpeg', 'image/jpeg'],
  ['a.gif', 'image/gif'],
  ['a.webp', 'image/webp'],
  ['a.txt', 'text/plain; charset=utf-8'],
  ['a.mp4', 'video/mp4'],
  ['a.mp3', 'audio/mpeg'],
];
const NOT_SHOWN = ['a.html', 'a.svg', 'a.xml', 'a.xhtml', 'a.js', 'a.zip', 'a.docx', 'a.unknown', 'none'];

export function describeContentTypes(setting: () => Setting): void {
  const storedAs = async (library: Library, content_type: string, name: string): Promise<DocumentRecord> => {
    const descriptor = await library.descriptor({ content_type });
    await upload(descriptor, 'typed');
    const body = { temp_key: descriptor.fields['key'], document_metadata: { name } };
    return bodyOf<DocumentRecord>(await library.confirm(body), 201);
  };
  const typeOf = async (library: Library, id: string, query = {}) => {
    const response = await fetch(await library.link(id, query));
    expect(response.status).toBe(200);
    await response.body?.cancel();
    return response.headers.get('content-type');
  };
  const placesOf = (detail: { loc: string[] }[]) => detail.map(({ loc }) => loc);

  describe('the content type of a file', () => {
    test.each([
      ['a.pdf', 'application/pdf'],
      ['photo.JPG', 'image/jpeg'],
      ['a.txt', 'text/plain'],
      ['a.md', 'text/markdown'],
      ['a.html', 'text/html'],
      ['a.json', 'application/json'],
      ['a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
      ['a.nosuchtype', 'application/octet-stream'],
      ['README', 'application/octet-stream'],
    ])('of %p without content_type is that of its extension: %p', async (name, type) => {
      const { admin } = setting();
      const { id } = await admin.stored({ name });
      expect(await typeOf(admin, id)).toBe(type);
    });

    test.each([
      'application/pdf',
      'text/plain; charset=iso-8859-1',
      'image/svg+xml',
      'application/x-Mine',
      'application/octet-stream',
      'a/b;c="d e;f";g=h',
    ])('is what content_type said, whatever the name: %p', async (type) => {
      const { admin } = setting();
      const { id } = await storedAs(admin, type, freshName('pdf'));
      expect(await typeOf(admin, id)).toBe(type);
    });

    test('may come with a plus that was not escaped in the query', async () => {
      const { workspace, call, adminKey } = setting();
      const path = `/v1/${workspace}/presigned/url?content_type=image/svg+xml`;
      const { fields } = bodyOf<{ fields: Record<string, string> }>(
        await call('GET', path, { key: adminKey }),
        201,
      );
      expect(fields['Content-Type']).toBe('image/svg+xml');
    });

    test('is signed: the store refuses another one', async () => {
      const descriptor = await setting().admin.descriptor({ content_type: 'application/pdf' });
      expect((await postFile(descriptor, 'x', { 'Content-Type': 'text/html' })).status).toBe(403);
      const { 'Content-Type': _, ...fields } = descriptor.fields;
      expect((await postFile({ ...descriptor, fields }, 'x')).status).toBe(403);
    });

    test('is refused with 422 where it is none', async () => {
      for (const content_type of [
        '',
        'pdf',
        'text/',
        '/plain',
        'text/plain;',
        'text/plain; charset',
        'text/pl\u00e4in',
        'a/b/c',
        'text/plain\r\nx: y',
        'text/plain; a="b',
        'text/plain\u0000',
        `text/${'x'.repeat(251)}`,
      ]) {
        const answer = await setting().admin.presign({ content_type });
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(answer, 422);
        expect([content_type, placesOf(detail)]).toEqual([content_type, [['query', 'content_type']]]);
      }
      expectStatus(await setting().admin.presign({ content_type: `text/${'x'.repeat(250)}` }), 201);
    });
  });

  describe('a download URL with disposition=inline', () => {
    test.each(SHOWN)('shows %p as %p, under its name', async (name, type) => {
      const { admin } = setting();
      const { id } = await admin.stored({ name: `Übersicht ${name}` }, 'shown');
      const response = await fetch(await admin.link(id, { disposition: 'inline' }));
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
      expect(response.headers.get('content-disposition')).toBe(
        `inline; filename="_bersicht ${name}"; filename*=UTF-8''%C3%9Cbersicht%20${name}`,
      );
      expect(await response.text()).toBe('shown');
      const saved = await fetch(await admin.link(id, { disposition: 'attachment' }));
      expect(saved.headers.get('content-disposition')).toStartWith('attachment;');
    });

    test.each(NOT_SHOWN)('is refused with 422 for %p, and says what can be shown', async (name) => {
      const { admin } = setting();
      const { id } = await admin.stored({ name });
      const answer = await admin.downloadUrl(id, { disposition: 'inline' });
      const { detail } = bodyOf<{ detail: { loc: string[]; msg: string }[] }>(answer, 422);
      expect(placesOf(detail)).toEqual([['query', 'disposition']]);
      expect(detail[0]?.msg).toContain('application/pdf, text/plain, image/png');
    });

    test('goes by the type that the form said, not by the name', async () => {
      const { admin } = setting();
      const page = await storedAs(admin, 'text/html', 'page.pdf');
      expectStatus(await admin.downloadUrl(page.id, { disposition: 'inline' }), 422);
      const report = await storedAs(admin, 'Application/PDF', 'report');
      expect(await typeOf(admin, report.id, { disposition: 'inline' })).toBe('Application/PDF');
      const encoded = await storedAs(admin, 'text/plain; charset=iso-8859-1', 'old.txt');
      const type = await typeOf(admin, encoded.id, { disposition: 'inline' });
      expect(type).toBe('text/plain; charset=iso-8859-1');
    });

    test('cannot be had by altering another URL, and hides what the caller cannot see', async () => {
      const { admin, people } = setting();
      const { id } = await admin.stored({ name: 'page.html' }, '<script>alert(1)</script>');
      const link = await admin.link(id);
      for (const url of [
        link.replace('attachment', 'inline'),
        `${link}&response-content-type=text%2Fhtml`,
        link.replace('X-Amz-Signature', 'response-content-type=text%2Fhtml&X-Amz-Signature'),
      ])
        expect([url, (await fetch(url)).status]).toEqual([url, 403]);
      const stranger = await people.person();
      expectRefusal(await stranger.library.downloadUrl(id, { disposition: 'inline' }), 404);
      for (const disposition of ['', 'INLINE', 'form-data']) {
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(
          await admin.downloadUrl(id, { disposition }),
          422,
        );
        expect(placesOf(detail)).toEqual([['query', 'disposition']]);
      }
    });

    test('comes with an order not to guess at another type', async () => {
      const { admin } = setting();
      const { id } = await admin.stored({ name: 'a.txt' }, '<html>');
      const response = await fetch(await admin.link(id, { disposition: 'inline' }));
      // Versity leaves it to what stands before it.
      if (response.headers.get('server') === 'VERSITYGW') return;
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    });
  });
}
