// Upload → text → the page that answers a question, over HTTP alone: each format, over every object store that is installed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { docx, openDocument, pdf, pptx, xlsx } from '../support/files.ts';
import { missingStore, STORES, type StoreUnderTest, startStore } from '../support/object-stores.ts';
import { bodyOf } from './support/caller.ts';
import { type Setting, startSetting } from './support/setting.ts';
import type { Content as Bytes } from './support/uploads.ts';

const says = (format: string): string => `The ${format}seal of the pump is changed in March.`;

const sheet = (name: string, text: string): string =>
  `<table:table table:name="${name}"><table:table-row><table:table-cell><text:p>${text}</text:p></table:table-cell></table:table-row></table:table>`;
const slide = (text: string): string => `<draw:page><text:p>${text}</text:p></draw:page>`;

/** A file of each format that says when, and the page on which it does. */
const FILES: Record<string, { file: (sentence: string) => Bytes; page: number | null }> = {
  pdf: {
    file: (sentence) => pdf([[{ x: 50, y: 700, text: 'First.' }], [{ x: 50, y: 700, text: sentence }]]),
    page: 2,
  },
  docx: { file: (sentence) => docx([{ style: 'Heading1', text: 'Seals' }, { text: sentence }]), page: null },
  pptx: {
    file: (sentence) =>
      pptx([
        { title: 'Pumps', text: 'First.' },
        { title: 'Seals', text: sentence },
      ]),
    page: 2,
  },
  xlsx: { file: (sentence) => xlsx({ Pumps: [['First']], Seals: [[sentence]] }), page: 2 },
  odt: { file: (sentence) => openDocument('text', `<text:p>${sentence}</text:p>`), page: null },
  ods: {
    file: (sentence) => openDocument('spreadsheet', sheet('Pumps', 'First') + sheet('Seals', sentence)),
    page: 2,
  },
  odp: {
    file: (sentence) => openDocument('presentation', slide('First.') + slide(sentence)),
    page: 2,
  },
  html: { file: (sentence) => `<title>Seals</title><p>${sentence}</p>`, page: null },
  md: { file: (sentence) => `# Seals\n\n${sentence}\n`, page: null },
  txt: { file: (sentence) => sentence, page: null },
  csv: { file: (sentence) => `Part,Note\nSeal,${sentence}\n`, page: null },
  json: { file: (sentence) => JSON.stringify({ seal: sentence }), page: null },
  eml: {
    file: (sentence) => `From: a@example.com\r\nSubject: Seals\r\n\r\n${sentence}\r\n`,
    page: null,
  },
  py: { file: (sentence) => `# ${sentence}\nseal = 3\n`, page: null },
};

for (const name of STORES) {
  const missing = missingStore(name);
  describe.skipIf(missing !== undefined)(missing ?? `reading over ${name}`, () => {
    let store: StoreUnderTest | undefined;
    let setting: Setting;
    beforeAll(async () => {
      store = await startStore(name);
      setting = await startSetting({ CONTENT: 'on', ...store.environment });
    });
    afterAll(async () => {
      await setting[Symbol.asyncDispose]();
      await store?.stop();
    });

    test.each(Object.keys(FILES))('a question finds what a %s file says, with its page', async (format) => {
      const { file, page } = FILES[format] ?? expect.unreachable();
      const { admin } = setting;
      const { id } = await admin.stored({ name: `manual.${format}` }, file(says(format)));
      const found = await eventually(
        'the passage',
        async () => {
          const answer = await admin.retrieve({ query: `When is the ${format}seal changed?`, limit: 20 });
          type Found = { passages: { document_id: string; page: number | null; text: string }[] };
          return bodyOf<Found>(answer, 200).passages.find(
            ({ document_id, text }) => document_id === id && text.includes(says(format)),
          );
        },
        60_000,
      );
      expect(found.page).toBe(page);
      expect((await admin.content(id, { format: 'text' })).text).toContain(says(format));
    });
  });
}
