// Files of many formats, made by hand: small, and hostile where a test asks for that.

import { deflateRawSync, deflateSync } from 'node:zlib';

const encoder = new TextEncoder();
const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? encoder.encode(content) : content;

/** A ZIP archive of these parts; `claimed` sizes may lie. */
export function zip(
  parts: Record<string, string | Uint8Array>,
  { claimed }: { claimed?: number } = {},
): Uint8Array<ArrayBuffer> {
  const locals: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const bytes = bytesOf(content);
    const packed = deflateRawSync(bytes);
    const path = encoder.encode(name);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(Bun.hash.crc32(bytes), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(claimed ?? bytes.length, 18);
    fields.writeUInt16LE(path.length, 22);
    locals.push(Buffer.from('PK\x03\x04'), fields, path, packed);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), fields, place, path);
    offset += 30 + path.length + packed.length;
  }
  const size = directory.reduce((sum, each) => sum + each.length, 0);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(Object.keys(parts).length, 8);
  end.writeUInt16LE(Object.keys(parts).length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...locals, ...directory, end]));
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const RELATIONSHIP = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const relationships = (...targets: [id: string, type: string, target: string][]): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${targets
    .map(
      ([id, type, target]) => `<Relationship Id="${id}" Type="${RELATIONSHIP}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`;

/** Paragraphs by style (`Heading1`, …), and tables as rows of cells. */
export type DocxBlock = { style?: string; text: string } | { rows: string[][] };

export function docx(blocks: readonly DocxBlock[], { head = '' } = {}): Uint8Array<ArrayBuffer> {
  const paragraph = (text: string, style?: string): string =>
    `<w:p>${style === undefined ? '' : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${escapeXml(text)}</w:t></w:r></w:p>`;
  const body = blocks.map((block) =>
    'rows' in block
      ? `<w:tbl>${block.rows
          .map((row) => `<w:tr>${row.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr>`)
          .join('')}</w:tbl>`
      : paragraph(block.text, block.style),
  );
  const style = (level: number): string =>
    `<w:style w:styleId="Heading${level}"><w:name w:val="heading ${level}"/></w:style>`;
  return zip({
    '_rels/.rels': relationships(['r1', 'officeDocument', 'word/document.xml']),
    'word/_rels/document.xml.rels': relationships(['r1', 'styles', 'styles.xml']),
    'word/styles.xml': `<w:styles xmlns:w="w">${[1, 2, 3].map(style).join('')}</w:styles>`,
    'word/document.xml': `<?xml version="1.0"?>${head}<w:document xmlns:w="w"><w:body>${body.join('')}</w:body></w:document>`,
  });
}

export function pptx(
  slides: readonly { title: string; text: string; notes?: string }[],
): Uint8Array<ArrayBuffer> {
  const shape = (type: string, text: string): string =>
    `<p:sp><p:nvPr><p:ph type="${type}"/></p:nvPr><p:txBody><a:p><a:r><a:t>${escapeXml(text)}</a:t></a:r></a:p></p:txBody></p:sp>`;
  const parts: Record<string, string> = {
    '_rels/.rels': relationships(['r1', 'officeDocument', 'ppt/presentation.xml']),
    'ppt/_rels/presentation.xml.rels': relationships(
      ...slides.map(
        (_, index) => [`r${index}`, 'slide', `slides/slide${index}.xml`] as [string, string, string],
      ),
    ),
    'ppt/presentation.xml': `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>${slides
      .map((_, index) => `<p:sldId id="${256 + index}" r:id="r${index}"/>`)
      .join('')}</p:sldIdLst></p:presentation>`,
  };
  for (const [index, { title, text, notes }] of slides.entries()) {
    parts[`ppt/slides/slide${index}.xml`] =
      `<p:sld xmlns:p="p" xmlns:a="a">${shape('title', title)}${shape('body', text)}${shape('sldNum', String(index))}</p:sld>`;
    if (notes === undefined) continue;
    parts[`ppt/slides/_rels/slide${index}.xml.rels`] = relationships([
      'r1',
      'notesSlide',
      `../notes${index}.xml`,
    ]);
    parts[`ppt/notes${index}.xml`] = `<p:notes xmlns:p="p" xmlns:a="a">${shape('body', notes)}</p:notes>`;
  }
  return zip(parts);
}

/** Sheets of rows; texts are shared strings, a Date is a serial number with a date's style. */
export function xlsx(
  sheets: Record<string, readonly (readonly (string | number | Date)[])[]>,
): Uint8Array<ArrayBuffer> {
  const shared: string[] = [];
  const places = new Map<string, number>();
  const share = (text: string): number =>
    places.getOrInsertComputed(text, () => shared.push(`<si><t>${escapeXml(text)}</t></si>`) - 1);
  const cell = (value: string | number | Date, column: number, row: number): string => {
    const at = `r="${String.fromCharCode(65 + column)}${row + 1}"`;
    if (typeof value === 'string') return `<c ${at} t="s"><v>${share(value)}</v></c>`;
    if (typeof value === 'number') return `<c ${at}><v>${value}</v></c>`;
    return `<c ${at} s="1"><v>${value.getTime() / 86_400_000 + 25_569}</v></c>`;
  };
  const names = Object.keys(sheets);
  const parts: Record<string, string> = {
    '_rels/.rels': relationships(['r1', 'officeDocument', 'xl/workbook.xml']),
    'xl/_rels/workbook.xml.rels': relationships(
      ['rs', 'sharedStrings', 'sharedStrings.xml'],
      ['rt', 'styles', 'styles.xml'],
      ...names.map((_, index) => [`r${index}`, 'worksheet', `sheet${index}.xml`] as [string, string, string]),
    ),
    'xl/styles.xml': '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${names
      .map((name, index) => `<sheet name="${escapeXml(name)}" sheetId="${index + 1}" r:id="r${index}"/>`)
      .join('')}</sheets></workbook>`,
  };
  for (const [index, name] of names.entries()) {
    const rows = (sheets[name] ?? []).map(
      (row, at) => `<row>${row.map((value, column) => cell(value, column, at)).join('')}</row>`,
    );
    parts[`xl/sheet${index}.xml`] = `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`;
  }
  parts['xl/sharedStrings.xml'] = `<sst>${shared.join('')}</sst>`;
  return zip(parts);
}

/** An OpenDocument file with this body, in the elements of the format. */
export const openDocument = (
  kind: 'text' | 'spreadsheet' | 'presentation',
  body: string,
): Uint8Array<ArrayBuffer> =>
  zip({
    mimetype: `application/vnd.oasis.opendocument.${kind}`,
    'META-INF/manifest.xml': '<manifest:manifest xmlns:manifest="m"/>',
    'content.xml': `<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:draw="d" xmlns:presentation="p"><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
  });

/** Text at a place of a page, in points from its lower left corner; `codes` are those of another font, in hexadecimal. */
export type PdfText = { x: number; y: number; text: string; size?: number; codes?: string };

type PdfAdditions = {
  trailer?: string;
  kids?: string;
  /** The font of texts with codes. */
  font?: string;
  /** Further objects, numbered after those of the pages. */
  objects?: readonly string[];
};

/** A PDF of these pages in Helvetica, with what a test adds. */
export function pdf(
  pages: readonly (readonly PdfText[])[],
  { trailer = '', kids = '', font = '3 0 R', objects: added = [] }: PdfAdditions = {},
): Uint8Array<ArrayBuffer> {
  const objects: string[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ')} ${kids}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
  ];
  for (const [index, texts] of pages.entries()) {
    const content = texts
      .map(({ x, y, text, size = 11, codes }) => {
        const shown = codes === undefined ? `(${text.replaceAll(/[()\\]/g, '\\$&')})` : `<${codes}>`;
        return `BT /${codes === undefined ? 'F1' : 'F2'} ${size} Tf ${x} ${y} Td ${shown} Tj ET`;
      })
      .join('\n');
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R /F2 ${font} >> >> /Contents ${5 + 2 * index} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    );
  }
  objects.push(...added);
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  const start = file.length;
  file += `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`;
  return new Uint8Array(Buffer.from(file, 'latin1'));
}

/** A PDF of 20 KB whose page is a stream of gigabytes: blanks, which its filters unpack from almost nothing. */
export function bombPdf(): Uint8Array<ArrayBuffer> {
  const runsOf128Blanks = Buffer.alloc(20_000_000, Buffer.from([129, 32]));
  const stream = deflateSync(runsOf128Blanks, { level: 9 }).toString('latin1');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
    // A page of several streams is unpacked before its text is looked at.
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << >> /Contents [4 0 R 4 0 R] >>',
    `<< /Filter [/FlateDecode /RunLengthDecode] /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
  ];
  const body = objects.map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`).join('');
  return new Uint8Array(Buffer.from(`%PDF-1.4\n${body}trailer\n<< /Root 1 0 R >>\n`, 'latin1'));
}

/** A PDF whose pages hold a letter each: finding the next one among thousands takes milliseconds. */
export const slowPdf = (pages: number): Uint8Array<ArrayBuffer> =>
  pdf(Array.from({ length: pages }, () => [{ x: 50, y: 700, text: 'a' }]));

/** A mail that holds a mail, and so on; the innermost says the text. */
export function nestedMail(depth: number, text: string): string {
  let mail = `From: a@example.com\r\nSubject: Level ${depth}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${text}\r\n`;
  for (let level = depth - 1; level >= 1; level--)
    mail = `From: a@example.com\r\nSubject: Level ${level}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\nContent-Type: text/plain\r\n\r\nAround level ${level + 1}.\r\n--b${level}\r\nContent-Type: message/rfc822\r\n\r\n${mail}\r\n--b${level}--\r\n`;
  return mail;
}
