// Files that are made to cost work: each takes about as much processor time as a harmless one of its size, whatever its parser has
// to undo. No absolute times.

import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createReader } from '../../../src/documents/content/reader-process.ts';
import { docx, openDocument, zip } from '../../support/files.ts';

/** Characters of text, or of the elements of an office document. */
const LENGTH = 6_000_000;
const TIMES_HARMLESS = 3;
/** Starting the process and loading its parsers. */
const ALLOWED_MS = 1500;
const TICK_MS = 10;

const files = new Map<string, Uint8Array<ArrayBuffer> | string>();
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => new Response(files.get(new URL(request.url).pathname.slice(1))),
});
const reader = createReader({ environment: { PATH: process.env['PATH'] } });
afterAll(async () => {
  reader.end();
  await server.stop(true);
});

const workedMs = (pid: number | undefined): number => {
  if (pid === undefined) return 0;
  const [, , , , , , , , , , , , , user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return (Number(user) + Number(system)) * TICK_MS;
};

/** Processor time of reading a file. */
async function costOf(name: string, file: Uint8Array<ArrayBuffer> | string): Promise<number> {
  const before = { pid: reader.pid(), ms: workedMs(reader.pid()) };
  files.set(name, file);
  const source = { url: `${server.url.href}${name}` };
  const request = { source, name, contentType: '', language: null, bytesMax: 100_000_000 };
  return reader.read(request, async (outcome) => {
    expect(Object.keys(outcome)).not.toContain('unavailable');
    if ('reading' in outcome) for await (const _ of outcome.chunks);
    return workedMs(reader.pid()) - (before.pid === reader.pid() ? before.ms : 0);
  });
}

/** Filled up with a part, repeated. */
const filled = (begin: string, part: string, end = ''): string =>
  begin + part.repeat(Math.floor((LENGTH - begin.length - end.length) / part.length)) + end;

const relationships = (...types: string[]): string =>
  `<Relationships>${types.map((type) => `<Relationship Id="${type}" Type="t/${type}" Target="${type}"/>`).join('')}</Relationships>`;
const word = (document: string) => zip({ 'word/document.xml': document });
const sheet = (rows: string, parts: Record<string, string> = {}) =>
  zip({
    'xl/workbook.xml': '<workbook><sheet name="A" id="sheet"/></workbook>',
    'xl/_rels/workbook.xml.rels': relationships('sheet', ...Object.keys(parts)),
    ...Object.fromEntries(Object.entries(parts).map(([name, part]) => [`xl/${name}`, part])),
    'xl/sheet': rows,
  });

const HARMLESS = filled('', '<p>A line of <b>text</b> that is harmless.</p>\n');
const OPEN = '<div>'.repeat(4900);
const DEEP = '{"a":'.repeat(190);

const HOSTILE: [name: string, what: string, make: () => Uint8Array<ArrayBuffer> | string][] = [
  ['a.html', 'end tags of elements that are not open', () => filled(OPEN, '</b>')],
  ['a.html', 'end tags that are whole elements', () => filled(OPEN, '</p>')],
  ['a.html', 'elements that begin and end below thousands', () => filled(OPEN, '<b></b>')],
  ['a.html', 'forms in a form', () => filled(`<form>${OPEN}`, '<form>')],
  ['a.html', 'end tags of pictures within text', () => filled('<svg><desc>'.repeat(2400), '</altglyph>')],
  ['a.html', 'an element of very many attributes', () => filled('<p ', 'a b c ', '>')],
  ['a.docx', 'end tags of elements that are not open', () => word(filled(OPEN, '</b>'))],
  ['a.docx', 'elements that begin and end below thousands', () => word(filled(OPEN, '<b/>'))],
  ['a.odt', 'end tags of elements that are not open', () => openDocument('text', filled(OPEN, '</b>'))],
  [
    'a.pptx',
    'end tags of elements that are not open',
    () =>
      zip({
        'ppt/presentation.xml': '<presentation><sldId id="slide"/></presentation>',
        'ppt/_rels/presentation.xml.rels': relationships('slide'),
        'ppt/slide': filled(OPEN, '</b>'),
      }),
  ],
  [
    'a.docx',
    'a long heading above very many',
    () =>
      docx([
        { style: 'Heading1', text: 'a'.repeat(LENGTH / 3) },
        ...Array.from({ length: 50_000 }, () => ({ style: 'Heading2', text: 'b' })),
      ]),
  ],
  ['a.md', 'a long heading above very many', () => `# ${'a'.repeat(LENGTH / 3)}\n${'## b\n'.repeat(50_000)}`],
  [
    'a.json',
    'values at the bottom of many levels',
    () => filled(`${DEEP}{"x":0`, ',"k":[{}]', `}${'}'.repeat(190)}`),
  ],
  ['a.json', 'very many lines', () => filled('', '1\n', '{')],
  ['a.csv', 'empty cells', () => filled('', ',')],
  [
    'a.xlsx',
    'cells of one long text of blanks',
    () =>
      sheet(filled('', '<row><c t="s"><v>0</v></c></row>'), {
        sharedStrings: `<si><t>${' '.repeat(2_000_000)}</t></si>`,
      }),
  ],
  ['a.xlsx', 'blank cells far to the right', () => sheet(filled('', '<row><c r="ZZZ1"><v> </v></c></row>'))],
  [
    'a.xlsx',
    'formats that open brackets',
    () => sheet('<row/>', { styles: filled('', `<numFmt numFmtId="1" formatCode="${'['.repeat(250)}"/>`) }),
  ],
  [
    'a.ods',
    'repeated cells of long blanks',
    () =>
      openDocument(
        'spreadsheet',
        filled(
          '',
          `<table:table-row><table:table-cell table:number-columns-repeated="64"><text:p>a</text:p></table:table-cell></table:table-row><!--${' '.repeat(2000)}-->`,
        ),
      ),
  ],
  [
    'a.eml',
    'a page of links without end, beside a plain text',
    () =>
      filled(
        'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\na\r\n--b\r\nContent-Type: text/html\r\n\r\n',
        '<a href="',
      ),
  ],
];

const harmlessMs = await costOf('harmless.html', HARMLESS);

test.skipIf(process.platform !== 'linux').each(HOSTILE)(
  'reading %s with %s costs about as much as a harmless page of the size',
  async (name, _what, make) => {
    expect(await costOf(name, make())).toBeLessThan(TIMES_HARMLESS * harmlessMs + ALLOWED_MS);
  },
  60_000,
);
