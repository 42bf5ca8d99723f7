// What the file of a document says: its state, its text, who may read and give it, and what happens to it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { bombPdf, docx, nestedMail, openDocument, pdf, pptx, xlsx } from '../support/files.ts';
import { bodyOf, expectRefusal, expectStatus } from './support/caller.ts';
import { freshName, type Library } from './support/library.ts';
import { type Setting, startSetting } from './support/setting.ts';
import type { Content as Bytes } from './support/uploads.ts';

type Content = {
  status: string;
  reason: string | null;
  language: string | null;
  pages: number | null;
  characters: number;
  passages: number;
};

let setting: Setting;
beforeAll(async () => {
  setting = await startSetting({ CONTENT: 'on', SWEEP_INTERVAL_SECONDS: '2', CONTENT_BYTES_MAX: '2000000' });
});
afterAll(() => setting.service[Symbol.asyncDispose]());

/** Three readings and the pauses between them, at the lowest priority. */
const READ_THRICE_MS = 180_000;

const stateOf = async (library: Library, id: string) => bodyOf<Content>(await library.content(id), 200);

const read = (library: Library, id: string): Promise<Content> => library.whenRead(id);

async function textOf(library: Library, id: string, format = 'text'): Promise<string> {
  const answer = await library.content(id, { format });
  expectStatus(answer, 200);
  expect(answer.headers.get('content-type')).toBe(
    `text/${format === 'text' ? 'plain' : 'markdown'}; charset=utf-8`,
  );
  return answer.text;
}

async function stored(name: string, content: Bytes, library = setting.admin) {
  const document = await library.stored({ name }, content);
  return { id: document.id, content: await read(library, document.id) };
}

const latin1 = (text: string): Bytes => Buffer.from(text, 'latin1');
const GERMAN = 'Die Pumpe muß vor der Prüfung ausgeschaltet sein. Danach wird das Öl gewechselt.';

/** Each format: a file, and what its text and its Markdown hold. */
const FORMATS: [
  name: string,
  file: () => Bytes,
  text: string[],
  markdown: string[],
  language: string | null,
][] = [
  ['plain text', () => GERMAN, [GERMAN], [], 'de'],
  ['windows.txt', () => latin1(GERMAN), [GERMAN], [], 'de'],
  ['utf-16.txt', () => Buffer.from(`\ufeff${GERMAN}`, 'utf16le'), [GERMAN], [], 'de'],
  [
    'notes.md',
    () => '# Pumps\n\nSwitch the pump off first.\n\n| Part | Price |\n|---|---|\n| Seal | 3 |\n',
    ['Pumps\n\nSwitch', 'Seal\t3'],
    ['# Pumps', '| Seal | 3 |'],
    null,
  ],
  [
    'page.html',
    () =>
      '<html lang="en-GB"><title>Pumps</title><script>alert(1)</script><h2>Oil &amp; seals</h2><p>Change the <b>oil</b>.<ul><li>first<li>second</ul><table><tr><td>A<td>B</table>',
    ['Pumps\n\nOil & seals\n\nChange the oil.\n\n• first\n• second\n\nA\tB'],
    ['## Oil & seals', '- first\n- second', '| A | B |'],
    'en',
  ],
  ['prices.csv', () => 'Part;Price\n"Seal; small";3\nRing;"5"\n', ['Seal; small\t3'], ['| Ring | 5 |'], null],
  [
    'pump.json',
    () => '{"pump": {"name": "P 7", "parts": ["seal", "ring"], "size": 12345678901234567890}}',
    ['pump.name: P 7', 'pump.parts: seal, ring', 'pump.size: 12345678901234567890'],
    [],
    null,
  ],
  [
    'pump.ts',
    () => 'export const pump = 1;\n\n  // Off.\n',
    ['export const pump = 1;\n\n  // Off.'],
    ['```'],
    null,
  ],
  ['letter.eml', () => nestedMail(9, 'The seal leaks.'), ['Level 9', 'The seal leaks.'], ['# Level 1'], 'en'],
  [
    'manual.docx',
    () =>
      docx([
        { style: 'Heading1', text: 'Pumps' },
        { style: 'Heading2', text: 'Oil & seals' },
        { text: 'Change the oil.' },
        {
          rows: [
            ['Part', 'Price'],
            ['Seal', '3'],
          ],
        },
      ]),
    ['Pumps\n\nOil & seals\n\nChange the oil.\n\nPart\tPrice\nSeal\t3'],
    ['## Oil & seals', '| Seal | 3 |'],
    null,
  ],
  [
    'talk.pptx',
    () =>
      pptx([
        { title: 'Pumps', text: 'They move water.', notes: 'Say it slowly.' },
        { title: 'Seals', text: 'They keep it in.' },
      ]),
    ['Pumps\n\nThey move water.\n\nSay it slowly.\n\nSeals'],
    ['# Seals'],
    null,
  ],
  [
    'prices.xlsx',
    () =>
      xlsx({
        Prices: [
          ['Part', 'Price', 'Since'],
          ['Seal', 3.5, new Date('2026-01-02')],
        ],
      }),
    ['Prices\n\nPart\tPrice\tSince\nSeal\t3.5\t2026-01-02'],
    ['| Seal | 3.5 | 2026-01-02 |'],
    null,
  ],
  [
    'letter.odt',
    () =>
      openDocument(
        'text',
        '<text:h text:outline-level="2">Oil</text:h><text:p>Change<text:s text:c="2"/>it.</text:p>',
      ),
    ['Oil\n\nChange  it.'],
    ['## Oil'],
    null,
  ],
  [
    'prices.ods',
    () =>
      openDocument(
        'spreadsheet',
        '<table:table table:name="Prices"><table:table-row><table:table-cell><text:p>Seal</text:p></table:table-cell><table:table-cell><text:p>3</text:p></table:table-cell></table:table-row></table:table>',
      ),
    ['Prices\n\nSeal\t3'],
    ['# Prices'],
    null,
  ],
  [
    'talk.odp',
    () =>
      openDocument(
        'presentation',
        '<draw:page><draw:frame presentation:class="title"><text:p>Pumps</text:p></draw:frame><text:p>Water.</text:p></draw:page>',
      ),
    ['Pumps\n\nWater.'],
    ['# Pumps'],
    null,
  ],
  [
    'manual.pdf',
    () =>
      pdf([
        [
          { x: 50, y: 780, text: 'Service of pumps', size: 20 },
          { x: 50, y: 740, text: 'The pump has to be switched off be-' },
          { x: 50, y: 726, text: 'fore it is opened.' },
          { x: 320, y: 740, text: 'Then the oil is changed.' },
        ],
        [{ x: 50, y: 780, text: 'Seals are on the second page.' }],
      ]),
    ['Service of pumps\n\nThe pump has to be switched off before it is opened.\n\nThen the oil is changed.'],
    ['# Service of pumps'],
    'en',
  ],
];

describe('the text of a document', () => {
  test.each(FORMATS)(
    'of %s is read a little after its confirm',
    async (name, file, texts, markdowns, language) => {
      const fileName = name.includes('.') ? name : freshName();
      const { id, content } = await stored(fileName, file());
      expect(content).toMatchObject({ status: 'ready', reason: null, language });
      const text = await textOf(setting.admin, id);
      for (const part of texts) expect(text).toContain(part);
      expect(content.characters).toBe([...text].length);
      expect(content.passages).toBeGreaterThan(0);
      const markdown = await textOf(setting.admin, id, 'markdown');
      for (const part of markdowns) expect(markdown).toContain(part);
      expect(text).not.toContain('alert');
    },
  );

  test('has its pages, slides and sheets counted, which plain text has none of', async () => {
    const { content } = await stored(
      'two.pdf',
      pdf([[{ x: 9, y: 9, text: 'one' }], [{ x: 9, y: 9, text: 'two' }]]),
    );
    expect(content.pages).toBe(2);
    expect((await stored('none.txt', 'text')).content.pages).toBeNull();
  });

  test('is that of the bytes, whatever the extension says', async () => {
    const { id, content } = await stored('lies.docx', pdf([[{ x: 50, y: 700, text: 'I am a PDF.' }]]));
    expect(content.status).toBe('ready');
    expect(await textOf(setting.admin, id)).toBe('I am a PDF.');
    const about = await stored('about.md', 'A PDF begins with %PDF-1.7, and an archive with PK.');
    expect(about.content.status).toBe('ready');
  });

  test('of any length is streamed whole, in any script', async () => {
    const text = Array.from(
      { length: 4000 },
      (_, line) => `Line ${line} 😀 日本語 ${'x'.repeat(line % 90)}.`,
    ).join('\n');
    const { id, content } = await stored('long.txt', text);
    expect(content.passages).toBeGreaterThan(100);
    expect(await textOf(setting.admin, id)).toBe(text);
    expect(await textOf(setting.admin, id, 'markdown')).toBe(text);
  });

  test('ends where its format does, also where the other one is longer', async () => {
    const rows = Array.from({ length: 9000 }, (_, number) => `a${number},b,c`).join('\n');
    const { id } = await stored('long.csv', rows);
    const markdown = await textOf(setting.admin, id, 'markdown');
    expect(markdown).toEndWith('| a8999 | b | c |');
    expect(await textOf(setting.admin, id)).toBe(rows.replaceAll(',', '\t'));
    const items = Array.from({ length: 9000 }, (_, number) => `- item ${number}`).join('\n');
    const list = await stored('list.md', items);
    expect(await textOf(setting.admin, list.id, 'markdown')).toBe(items);
    expect(await textOf(setting.admin, list.id)).toBe(items.replaceAll('- ', '• '));
  });

  test('is absent with a reason, where there is none to be had', async () => {
    const states = [
      ['scan.pdf', pdf([[]]), 'empty', /no text/],
      ['empty.txt', '', 'empty', /no text/],
      ['photo.jpg', 'JFIF', 'unsupported', /kind/],
      ['blob.txt', new Uint8Array(5000), 'unsupported', /not text/],
      ['old.docx', latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'), 'unsupported', /encrypted, or in the format/],
      ['large.txt', 'a'.repeat(2_000_001), 'unsupported', /larger than 2000000 bytes/],
      ['broken.docx', latin1('PK\x03\x04 nothing'), 'failed', /damaged/],
      ['lies.pdf', 'no PDF', 'failed', /not what its name says/],
    ] as const;
    for (const [name, bytes, status, reason] of states) {
      const { id, content } = await stored(name, bytes);
      expect([name, content]).toMatchObject([
        name,
        { status, reason: expect.stringMatching(reason), characters: 0, passages: 0 },
      ]);
      if (status === 'empty') expect(await textOf(setting.admin, id)).toBe('');
      else expect(expectRefusal(await setting.admin.content(id, { format: 'text' }), 409)).toContain(status);
    }
  });

  test('is read by those who may read the metadata, in the bin and in the archive too, at once', async () => {
    const { people } = setting;
    const [owner, other] = [await people.person(), await people.person()];
    const { id } = await stored('mine.txt', 'mine', owner.library);
    expectStatus(await other.library.content(id), 404);
    expectStatus(await owner.library.patch(id, { access: { curators: [other.email] } }), 200);
    expect(await textOf(other.library, id)).toBe('mine');
    expectStatus(await owner.library.archive(id), 200);
    expect(await textOf(other.library, id)).toBe('mine');
    expectStatus(await owner.library.bin(id), 204);
    expectStatus(await other.library.content(id, { format: 'text' }), 404);
    expect(await textOf(owner.library, id)).toBe('mine');
    expectStatus(await owner.library.purge(id), 204);
    expectStatus(await owner.library.content(id), 404);
  });

  test('is found by no name, and its query is checked', async () => {
    const { id } = await stored('named.txt', 'x');
    expectStatus(await setting.admin.content('named.txt'), 404);
    expectStatus(await setting.admin.content(crypto.randomUUID()), 404);
    expectStatus(await setting.admin.content(id, { format: 'pdf' }), 422);
  });
});

type Excerpt = {
  name: string;
  characters: number;
  start: number;
  end: number;
  next_offset: number | null;
  text: string;
};

describe('a part of a text', () => {
  const excerptOf = async (id: string, query: Record<string, number>) =>
    bodyOf<Excerpt>(await setting.admin.excerpt(id, query), 200);

  test('is read from any offset in characters, across the parts that it is stored in', async () => {
    const text = Array.from(
      { length: 5000 },
      (_, line) => `Line ${line} 😀 日本語 ${'x'.repeat(line % 90)}.`,
    ).join('\n');
    const characters = [...text];
    const { id } = await stored('long.txt', text);
    for (const [offset, length] of [
      [0, 1],
      [0, 100_000],
      [65_000, 1000],
      [131_071, 70_000],
      [characters.length - 5, 100],
    ] as const) {
      const found = await excerptOf(id, { offset, length });
      const end = Math.min(offset + length, characters.length);
      expect(found.text === characters.slice(offset, end).join('')).toBe(true);
      expect(found).toMatchObject({
        name: 'long.txt',
        characters: characters.length,
        start: offset,
        end,
        next_offset: end === characters.length ? null : end,
      });
    }
    let whole = '';
    for (let offset: number | null = 0; offset !== null; ) {
      const part: Excerpt = await excerptOf(id, { offset, length: 99_999 });
      whole += part.text;
      offset = part.next_offset;
    }
    expect(whole === text).toBe(true);
    const behind = await excerptOf(id, { offset: characters.length + 10 });
    expect(behind).toMatchObject({ text: '', next_offset: null, start: characters.length });
    expect((await excerptOf(id, {})).text).toBe(characters.slice(0, 20_000).join(''));
  });

  test('is a page, slide or sheet, which ends it', async () => {
    const pages = pdf([
      [{ x: 50, y: 780, text: 'The first page is about oil.' }],
      [{ x: 50, y: 780, text: 'The second page is about seals.' }],
      [],
    ]);
    const { id } = await stored('pages.pdf', pages);
    const second = await excerptOf(id, { page: 2 });
    expect(second).toMatchObject({ text: 'The second page is about seals.', next_offset: null });
    const begun = await excerptOf(id, { page: 2, length: 10 });
    expect(begun).toMatchObject({ text: 'The second', next_offset: second.start + 10 });
    expect((await excerptOf(id, { offset: second.start })).text).toBe(second.text);
    expect((await excerptOf(id, { page: 3 })).text).toBe('');
    expect((await excerptOf(id, { page: 99 })).text).toBe('');
  });

  test('is refused where there is no text, and where the query is wrong', async () => {
    const photo = await stored('photo.jpg', 'JFIF');
    expect(expectRefusal(await setting.admin.excerpt(photo.id), 409)).toContain('unsupported');
    const scan = await stored('scan.pdf', pdf([[]]));
    expect((await excerptOf(scan.id, {})).text).toBe('');
    for (const wrong of [
      { offset: -1 },
      { page: 0 },
      { length: 0 },
      { length: 100_001 },
      { page: 1, offset: 0 },
    ])
      expectStatus(await setting.admin.excerpt(scan.id, wrong), 422);
    expectStatus(await setting.admin.excerpt(crypto.randomUUID()), 404);
  });
});

describe('a text that a person gives', () => {
  test('takes the place of the one in the file, with its pages and its language', async () => {
    const { id } = await stored('scan.pdf', pdf([[]]));
    const given = {
      text: '# First\n\nLe joint fuit.\f# Second\n\nIl est changé.',
      format: 'markdown',
      language: 'fr',
    };
    expect(bodyOf<Content>(await setting.admin.putContent(id, given), 200).status).toBe('pending');
    const content = await read(setting.admin, id);
    expect(content).toMatchObject({ status: 'ready', language: 'fr', pages: 2 });
    expect(await textOf(setting.admin, id)).toContain('Le joint fuit.');
    expectStatus(await setting.admin.putContent(id, { text: 'one\ftwo\fthree' }), 200);
    expect((await read(setting.admin, id)).pages).toBe(3);
    const aboutPdf = '%PDF-1.7 is how a PDF begins.';
    expectStatus(await setting.admin.putContent(id, { text: aboutPdf }), 200);
    expect((await read(setting.admin, id)).status).toBe('ready');
    expect(await textOf(setting.admin, id)).toBe(aboutPdf);
    expectStatus(await setting.admin.putContent(id, { reading: 'on' }), 200);
    expect((await read(setting.admin, id)).status).toBe('empty');
  });

  test('is refused with every mistake, and to those who may not edit', async () => {
    const { people } = setting;
    const [owner, reader] = [await people.person(), await people.person()];
    const document = await owner.library.stored({ status: 'public' });
    for (const wrong of [
      {},
      { text: '' },
      { text: 1 },
      { text: 'a', reading: 'off' },
      { reading: 'maybe' },
      { text: 'a', format: 'x' },
      { text: 'a', language: '?' },
      { text: 'a\u0000' },
    ])
      expect([wrong, (await owner.library.putContent(document.id, wrong)).status]).toEqual([wrong, 422]);
    expectStatus(await reader.library.putContent(document.id, { text: 'a' }), 403);
    expectStatus(await owner.library.bin(document.id), 204);
    expectStatus(await owner.library.putContent(document.id, { text: 'a' }), 409);
  });
});

describe('reading', () => {
  test('of a file that needs too much memory is tried three times, while the service and other files go on', async () => {
    const { admin, call, service } = setting;
    const { id } = await admin.stored({ name: 'bomb.pdf' }, bombPdf());
    const reason = 'the file needs too much memory to be read';
    const tries = (): { attempt: number; reason: string }[] =>
      service.child
        .output()
        .split('\n')
        .filter((line) => line.includes(id) && line.includes('could not be read'))
        .map((line) => JSON.parse(line));
    await eventually(
      'the first try to fail',
      async () => (await stateOf(admin, id)).reason === reason,
      READ_THRICE_MS,
    );
    // It is read between the tries.
    const other = await admin.stored({ name: 'other.txt' }, 'The seal leaks.');
    await eventually(
      'the last try to fail',
      async () => {
        expectStatus(await call('GET', '/healthz'), 200);
        return (await stateOf(admin, id)).status !== 'pending';
      },
      READ_THRICE_MS,
    );
    const none = { pages: null, language: null, characters: 0, passages: 0 };
    expect(await stateOf(admin, id)).toMatchObject({ status: 'failed', reason, ...none });
    await eventually('the third try to be logged', () => tries().length >= 3);
    expect(tries().map(({ attempt, reason: said }) => [attempt, said])).toEqual(
      [1, 2, 3].map((n) => [n, reason]),
    );
    expect(await read(admin, other.id)).toMatchObject({ status: 'ready', reason: null });
    expect(await textOf(admin, other.id)).toBe('The seal leaks.');
  });

  test('is off for a document whose confirm or owner says so, and nothing of its text is kept', async () => {
    const { admin } = setting;
    const confirmed = bodyOf<{ id: string }>(
      await admin.confirm({
        temp_key: await admin.uploaded('secret'),
        reading: 'off',
        document_metadata: { name: freshName() },
      }),
      201,
    );
    expect(await stateOf(admin, confirmed.id)).toMatchObject({ status: 'unsupported', passages: 0 });
    const { id } = await stored('known.txt', 'secret');
    const off = bodyOf<Content>(await admin.putContent(id, { reading: 'off' }), 200);
    expect(off).toMatchObject({ status: 'unsupported', characters: 0, passages: 0 });
    expectRefusal(await admin.content(id, { format: 'text' }), 409);
    expectStatus(await admin.putContent(id, { reading: 'on' }), 200);
    expect((await read(admin, id)).status).toBe('ready');
  });

  test('is off for a workspace whose administrator says so, and catches up when it is on again', async () => {
    const { call, adminKey: key, elsewhere, libraryOf } = setting;
    const { workspace, people } = await elsewhere();
    const path = `/admin/api/workspaces/${workspace}/content`;
    expect(bodyOf<unknown>(await call('GET', path, { key }), 200)).toEqual({ reading: 'on' });
    expectStatus(await call('PUT', path, { key, json: { reading: 'off' } }), 200);
    const { library } = await people.person();
    const { id } = await library.stored({}, 'read later');
    await eventually(
      'the file to be passed over',
      async () => (await read(library, id)).status === 'unsupported',
    );
    expectStatus(await call('PUT', path, { key, json: { reading: 'on' } }), 200);
    await eventually('the text', async () => (await stateOf(library, id)).status === 'ready');
    for (const wrong of [{}, { reading: 'no' }])
      expectStatus(await call('PUT', path, { key, json: wrong }), 422);
    const nowhere = '/admin/api/workspaces/nowhere/content';
    expectStatus(await call('GET', nowhere, { key }), 404);
    expectStatus(await call('PUT', nowhere, { key, json: { reading: 'on' } }), 404);
    expectStatus(await libraryOf(undefined).content(id), 422);
  });
});
