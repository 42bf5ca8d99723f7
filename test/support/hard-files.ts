// Files that are hard to read, and the text that comes out of each: a test compares, and a page of the documentation is made
// of them.

import { docx, openDocument, type PdfText, pdf, pptx, xlsx, zip } from './files.ts';

/** `text` is exactly what comes out. */
export type HardFile = {
  format: string;
  hard: string;
  name: string;
  file: () => string | Uint8Array<ArrayBuffer>;
  text: string;
  /** What is lost or wrong. */
  lost?: string;
};

/** Lines of a column, from the top. */
const column = (x: number, lines: readonly string[]): PdfText[] =>
  lines.map((text, index) => ({ x, y: 740 - 14 * index, text }));

const byRows = (texts: readonly PdfText[]): PdfText[] => texts.toSorted((one, other) => other.y - one.y);

const LEFT = [
  'The pump moves cold water from the',
  'lower tank to the upper one, and it',
  'is switched off at night. Its seals',
  'are changed once a year by a person',
  'of the workshop.',
];
const RIGHT = [
  'Valves open before the pump begins,',
  'and they close after it has ended. A',
  'spring closes them where no current',
  'is left.',
];
const TWO_COLUMNS = [LEFT, RIGHT].map((lines) => lines.join('\n')).join('\n\n');

/** A font of CJK characters that is not in the file, with a predefined encoding. */
const cjkFont = (encoding: string, ordering: string): string =>
  `<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /${encoding} /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> /DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /Song /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>`;

/** A font whose codes are those of UTF-16, with a map to Unicode. */
const mappedFont = (first: number, objects: string[]) => {
  const map = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n1 beginbfrange <0000> <FFFF> <0000> endbfrange\nendcmap end end`;
  objects.push(`<< /Length ${map.length} >>\nstream\n${map}\nendstream`);
  return `<< /Type /Font /Subtype /Type0 /BaseFont /Arab /Encoding /Identity-H /ToUnicode ${first} 0 R /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Arab /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 500 /FontDescriptor << /Type /FontDescriptor /FontName /Arab /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>`;
};

const utf16 = (text: string): string => Buffer.from(text, 'utf16le').swap16().toString('hex');

/** A page in a script that Helvetica has not: texts at their places, in the order of their glyphs from the left. */
function inAnyScript(texts: readonly PdfText[]): Uint8Array<ArrayBuffer> {
  const objects: string[] = [];
  const font = mappedFont(6, objects);
  return pdf([texts.map((each) => ({ ...each, codes: utf16(each.text) }))], { font, objects });
}

const visual = (text: string): string => [...text].reverse().join('');

const WORDS_RTL = ['המשאבה', 'כבויה', 'בלילה'];

export const HARD_FILES: readonly HardFile[] = [
  {
    format: 'PDF',
    hard: 'two columns, one after the other',
    name: 'columns.pdf',
    file: () => pdf([[...column(50, LEFT), ...column(320, RIGHT)]]),
    text: TWO_COLUMNS,
  },
  {
    format: 'PDF',
    hard: 'two columns, placed row by row',
    name: 'rows.pdf',
    file: () => pdf([byRows([...column(50, LEFT), ...column(320, RIGHT)])]),
    text: TWO_COLUMNS,
  },
  {
    format: 'PDF',
    hard: 'a table',
    name: 'table.pdf',
    file: () =>
      pdf([
        byRows([
          ...column(50, ['Part', 'Seal', 'Ring', 'Spring', 'Valve']),
          ...column(200, ['Material', 'Rubber', 'Steel', 'Steel', 'Brass']),
          ...column(350, ['Price', '3.50', '5.00', '7.25', '19.90']),
        ]),
      ]),
    text: 'Part\tMaterial\tPrice\nSeal\tRubber\t3.50\nRing\tSteel\t5.00\nSpring\tSteel\t7.25\nValve\tBrass\t19.90',
  },
  {
    format: 'PDF',
    hard: 'headers and footers on each page',
    name: 'running.pdf',
    file: () =>
      pdf(
        ['pumps', 'seals', 'valves', 'tanks'].map((about, page) => [
          { x: 50, y: 800, text: 'Manual of the works' },
          { x: 50, y: 700, text: `This page is about ${about}.` },
          { x: 280, y: 30, text: `Page ${page + 1} of 4` },
        ]),
      ),
    text: ['pumps', 'seals', 'valves', 'tanks'].map((about) => `This page is about ${about}.`).join('\n\n'),
  },
  {
    format: 'PDF',
    hard: 'words divided at the ends of lines, ligatures',
    name: 'hyphens.pdf',
    file: () =>
      inAnyScript([
        { x: 50, y: 700, text: 'The of\ufb01ce has a \ufb02at roof, and main-' },
        { x: 50, y: 686, text: 'tenance of it is a dif\u2010' },
        { x: 50, y: 672, text: 'ferent matter.' },
      ]),
    text: 'The office has a flat roof, and maintenance of it is a different matter.',
  },
  {
    format: 'PDF',
    hard: 'footnotes and raised numbers',
    name: 'notes.pdf',
    file: () =>
      pdf([
        [
          { x: 50, y: 700, text: 'The pump' },
          { x: 98, y: 704, text: '1', size: 7 },
          { x: 106, y: 700, text: 'fills a tank of 12 m' },
          { x: 195, y: 704, text: '3', size: 7 },
          { x: 202, y: 700, text: 'a day.' },
          { x: 50, y: 60, text: '1', size: 6 },
          { x: 56, y: 57, text: 'Of the older kind.', size: 8 },
        ],
      ]),
    text: 'The pump ¹ fills a tank of 12 m³ a day.\n\n¹ Of the older kind.',
  },
  {
    format: 'PDF',
    hard: 'a formula',
    name: 'formula.pdf',
    file: () =>
      pdf([
        [
          { x: 50, y: 700, text: 'E = mc' },
          { x: 85, y: 704, text: '2', size: 7 },
          { x: 50, y: 650, text: 'a + b' },
          { x: 50, y: 636, text: 'c + d' },
        ],
      ]),
    text: 'E = mc²\n\na + b\nc + d',
    lost: 'the bar of a fraction: numerator and denominator are two lines',
  },
  {
    format: 'PDF',
    hard: 'right to left, a run of glyphs from the left',
    name: 'hebrew.pdf',
    file: () => inAnyScript([{ x: 50, y: 700, text: visual(WORDS_RTL.join(' ')) }]),
    text: WORDS_RTL.join(' '),
  },
  {
    format: 'PDF',
    hard: 'right to left, each word at its place, from the left',
    name: 'hebrew-words.pdf',
    file: () =>
      inAnyScript(
        WORDS_RTL.toReversed().map((word, index) => ({ x: 50 + 35 * index, y: 700, text: visual(word) })),
      ),
    text: WORDS_RTL.join(' '),
  },
  {
    format: 'PDF',
    hard: 'Arabic in presentation forms, with a number and a name',
    name: 'arabic.pdf',
    file: () =>
      inAnyScript([
        { x: 240, y: 700, text: visual('ﺍﻟﻤﻀﺨﺔ') },
        { x: 215, y: 700, text: 'P 7' },
        { x: 180, y: 700, text: visual('ﻣﻐﻠﻘﺔ') },
        { x: 150, y: 700, text: '2026' },
      ]),
    text: 'المضخة P 7 مغلقة 2026',
  },
  {
    format: 'PDF',
    hard: 'Chinese, a font that is not in the file',
    name: 'chinese.pdf',
    file: () =>
      pdf(
        [
          [
            { x: 50, y: 700, text: '', codes: utf16('水泵必须在检查之前') },
            { x: 50, y: 686, text: '', codes: utf16('关闭。') },
          ],
        ],
        { font: cjkFont('UniGB-UCS2-H', 'GB1') },
      ),
    text: '水泵必须在检查之前关闭。',
  },
  {
    format: 'PDF',
    hard: 'Japanese in Shift JIS, a font that is not in the file',
    name: 'japanese.pdf',
    file: () =>
      pdf([[{ x: 50, y: 700, text: '', codes: '837c83938376' }]], { font: cjkFont('90ms-RKSJ-H', 'Japan1') }),
    text: 'ポンプ',
  },
  {
    format: 'PDF',
    hard: 'Korean, a font that is not in the file',
    name: 'korean.pdf',
    file: () =>
      pdf([[{ x: 50, y: 700, text: '', codes: utf16('펌프를 끄십시오') }]], {
        font: cjkFont('UniKS-UCS2-H', 'Korea1'),
      }),
    text: '펌프를 끄십시오',
  },
  {
    format: 'PDF',
    hard: 'a font without a map to Unicode',
    name: 'unmapped.pdf',
    file: () =>
      pdf([[{ x: 50, y: 700, text: '', codes: '000100020003' }]], {
        font: cjkFont('Identity-H', 'Identity'),
      }),
    text: '',
    lost: 'all of it: codes of glyphs have no letters. Such a file is `empty`, and a text can be given',
  },
  {
    format: 'PDF',
    hard: '1,000 pages',
    name: 'long.pdf',
    file: () =>
      pdf(Array.from({ length: 1000 }, (_, page) => [{ x: 50, y: 700, text: `Room ${page + 1} is open.` }])),
    text: Array.from({ length: 1000 }, (_, page) => `Room ${page + 1} is open.`).join('\n\n'),
  },
  {
    format: 'PDF',
    hard: 'a soft hyphen (U+00AD) at the end of a line',
    name: 'soft.pdf',
    file: () =>
      inAnyScript([
        { x: 50, y: 700, text: 'a dif\u00ad' },
        { x: 50, y: 686, text: 'ferent matter' },
      ]),
    text: 'a dif\nferent matter',
    lost: 'the word is in two parts: the parser leaves such hyphens out',
  },
  {
    format: 'DOCX',
    hard: 'notes, a formula, deleted text, a table within a table',
    name: 'report.docx',
    file: () => {
      const run = (text: string): string => `<w:r><w:t>${text}</w:t></w:r>`;
      const cell = (content: string): string => `<w:tc>${content}</w:tc>`;
      return zip({
        'word/_rels/document.xml.rels':
          '<Relationships><Relationship Id="r1" Type="t/footnotes" Target="footnotes.xml"/></Relationships>',
        'word/document.xml': `<w:document><w:body><w:p>${run('The pump is off.')}<w:del>${run('Never.')}</w:del></w:p><w:p><m:oMath><m:r><m:t>E=m</m:t></m:r><m:sSup><m:r><m:t>c</m:t></m:r><m:r><m:t>2</m:t></m:r></m:sSup></m:oMath></w:p><w:tbl><w:tr>${cell(`<w:p>${run('Seal')}</w:p>`)}${cell(`<w:tbl><w:tr>${cell(`<w:p>${run('rubber')}</w:p>`)}</w:tr></w:tbl>`)}</w:tr></w:tbl></w:body></w:document>`,
        'word/footnotes.xml': `<w:footnotes><w:footnote><w:p>${run('Of the older kind.')}</w:p></w:footnote></w:footnotes>`,
      });
    },
    text: 'The pump is off.\n\nE=mc2\n\nSeal\trubber\n\nOf the older kind.',
    lost: 'powers and fractions of formulas are letters in one line',
  },
  {
    format: 'DOCX',
    hard: 'right to left, Chinese',
    name: 'scripts.docx',
    file: () => docx([{ style: 'Heading1', text: 'המשאבה' }, { text: '水泵必须关闭。' }]),
    text: 'המשאבה\n\n水泵必须关闭。',
  },
  {
    format: 'PPTX',
    hard: 'speaker notes, numbers of slides',
    name: 'talk.pptx',
    file: () => pptx([{ title: 'Pumps', text: 'They move water.', notes: 'Say it slowly.' }]),
    text: 'Pumps\n\nThey move water.\n\nSay it slowly.',
  },
  {
    format: 'XLSX',
    hard: 'dates, shared texts, several sheets',
    name: 'prices.xlsx',
    file: () =>
      xlsx({
        Prices: [
          ['Part', 'Since'],
          ['Seal', new Date('2026-01-02')],
        ],
        Empty: [[]],
        Sums: [[12.5]],
      }),
    text: 'Prices\n\nPart\tSince\nSeal\t2026-01-02\n\nEmpty\n\nSums\n\n12.5',
    lost: 'formulas: a cell has the value that was stored with it',
  },
  {
    format: 'ODT',
    hard: 'a note amid a sentence, blanks and tabs as elements',
    name: 'letter.odt',
    file: () =>
      openDocument(
        'text',
        '<text:p>The pump<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Of the older kind.</text:p></text:note-body></text:note> is<text:s/>off.<text:tab/>Now.</text:p>',
      ),
    text: 'The pump is off.\tNow.\n\nOf the older kind.',
  },
  {
    format: 'HTML',
    hard: 'scripts, soft hyphens, entities, a formula, a table with spans',
    name: 'page.html',
    file: () =>
      '<title>Pumps</title><script>alert("x")</script><style>p{}</style><nav>Menu</nav><p onclick="steal()">Main&shy;tenance &lt;daily&gt;<math><mi>E</mi><mo>=</mo><mi>m</mi><annotation>E=m</annotation></math></p><table><tr><th colspan="2">Part<tr><td>Seal<td>3</table>',
    text: 'Pumps\n\nMaintenance <daily>E=m\n\nPart\nSeal\t3',
  },
  {
    format: 'Text',
    hard: 'Shift JIS without a declaration',
    name: 'japanese.txt',
    file: () =>
      new Uint8Array(
        Buffer.from(
          '8365834c83588367974c82e882dc82b781423193fa82c982c582ab82dc82b7814282b182ea82cd93fa967b8cea82cc95b68fcd82c582b78142',
          'hex',
        ),
      ),
    text: 'テキスト有ります。1日にできます。これは日本語の文章です。',
  },
  {
    format: 'Text',
    hard: 'Cyrillic in windows-1251 without a declaration',
    name: 'russian.txt',
    file: () =>
      new Uint8Array(
        Buffer.from(
          'cde0f1eef120e4eeebe6e5ed20e1fbf2fc20e2fbeaebfef7e5ed20efe5f0e5e420eff0eee2e5f0eaeee92e',
          'hex',
        ),
      ),
    text: 'Насос должен быть выключен перед проверкой.',
  },
  {
    format: 'Text',
    hard: 'broken UTF-8, lone surrogates, control characters',
    name: 'broken.txt',
    file: () => new Uint8Array(Buffer.from('efbbbf41ff42eda08043074400', 'hex')),
    text: 'A\ufffdB\ufffd\ufffd\ufffdCD',
    lost: 'bytes that are no characters: each is a replacement character',
  },
  {
    format: 'CSV',
    hard: 'quotes, line breaks within cells, semicolons',
    name: 'prices.csv',
    file: () => 'Part;Note\n"Seal; small";"of ""rubber""\nor silk"\n',
    text: 'Part\tNote\nSeal; small\tof "rubber" or silk',
  },
  {
    format: 'JSON',
    hard: 'long numbers, nested lists',
    name: 'pump.json',
    file: () => '{"pump":{"size":12345678901234567890,"parts":[{"name":"seal"},{"name":"ring"}]}}',
    text: 'pump.size: 12345678901234567890\npump.parts[0].name: seal\npump.parts[1].name: ring',
  },
  {
    format: 'EML',
    hard: 'encoded headers, quoted-printable in Latin-1, an attachment',
    name: 'mail.eml',
    file: () =>
      'From: a@example.com\r\nSubject: =?iso-8859-1?Q?Pr=FCfung?=\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nDas =D6l ist ge=\r\nwechselt.\r\n--b\r\nContent-Type: text/csv; name=a.csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\nPart,Price\r\nSeal,3\r\n--b--\r\n',
    text: 'Prüfung\n\nFrom: a@example.com\n\nDas Öl ist gewechselt.\n\na.csv\n\nPart\tPrice\nSeal\t3',
  },
];
