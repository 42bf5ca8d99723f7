// A file's bytes → its outline: by the kind of the file, which its first bytes may correct.

import { decodeText } from './encoding.ts';
import { declaredEncodingOf, readHtml } from './formats/html.ts';
import { readJson } from './formats/json.ts';
import { type Kind, kindOf } from './formats/kinds.ts';
import { readMarkdown } from './formats/markdown.ts';
import { readPlainText } from './formats/plain.ts';
import { readTable } from './formats/table.ts';
import { type Archive, openArchive } from './formats/zip.ts';
import type { Outline } from './outline.ts';
import type { TextFormat } from './protocol.ts';
import type { SourceFile } from './source-file.ts';
import { Unreadable } from './unreadable.ts';

/** States a file's text, and returns the language that the file names. */
type ReadFormat = (file: SourceFile, outline: Outline) => unknown;

const charsetOf = ({ contentType }: SourceFile): string | undefined =>
  /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1];

const ofText =
  (read: (text: string, outline: Outline) => void | Promise<void>): ReadFormat =>
  (file, outline) =>
    read(decodeText(file.bytes, charsetOf(file)), outline);

const ofArchive =
  (load: () => Promise<(archive: Archive, outline: Outline) => unknown>): ReadFormat =>
  async ({ bytes }, outline) =>
    (await load())(openArchive(bytes), outline);

/** The larger parsers are loaded when the first file needs them. */
const READERS: Record<Kind, ReadFormat> = {
  pdf: async ({ bytes }, outline) => (await import('./formats/pdf.ts')).readPdf(bytes, outline),
  docx: ofArchive(async () => (await import('./formats/docx.ts')).readDocx),
  pptx: ofArchive(async () => (await import('./formats/pptx.ts')).readPptx),
  xlsx: ofArchive(async () => (await import('./formats/xlsx.ts')).readXlsx),
  opendocument: ofArchive(async () => (await import('./formats/opendocument.ts')).readOpenDocument),
  mail: async ({ bytes }, outline) =>
    (await import('./formats/mail.ts')).readMail(bytes, outline, (file, into) => readFile(file, into)),
  html: (file, outline) =>
    readHtml(decodeText(file.bytes, charsetOf(file) ?? declaredEncodingOf(file.bytes)), outline),
  markdown: ofText(readMarkdown),
  table: ofText(readTable),
  json: ofText(readJson),
  plain: ofText(readPlainText),
  code: ofText((text, outline) => outline.lines(text)),
};

/**
 * Reads a file into the outline; returns the language that it names. Throws Unreadable for a file that has no text to be
 * had, and TextFull where the outline is full.
 */
export async function readFile(file: SourceFile, outline: Outline): Promise<string | undefined> {
  const named = kindOf(file);
  if (named === undefined) throw new Unreadable('unsupported', 'files of this kind are not read');
  const kind = kindOfBytes(file.bytes, named);
  const language = await READERS[kind](file, outline);
  return typeof language === 'string' ? language : undefined;
}

/** Reads a text that a person gives, in the format that they state. Its first bytes do not decide; form feeds divide its pages. */
export function readGiven({ text, format }: { text: string; format: TextFormat }, outline: Outline): void {
  const read = format === 'markdown' ? readMarkdown : readPlainText;
  const pages = text.split('\f');
  for (const page of pages) {
    if (pages.length > 1) outline.page();
    read(page, outline);
  }
}

const ARCHIVED: ReadonlySet<Kind> = new Set(['docx', 'pptx', 'xlsx', 'opendocument']);

/** The kind that the first bytes show, where they show one: an extension may be wrong. Throws Unreadable for others. */
function kindOfBytes(bytes: Uint8Array, named: Kind): Kind {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 1024));
  // Some programs write other bytes before the mark; a text may contain it, too.
  if (named === 'pdf' ? start.includes('%PDF-') : start.startsWith('%PDF-')) return 'pdf';
  if (start.startsWith('PK\x03\x04')) return kindOfArchive(openArchive(bytes));
  if (start.startsWith('\xd0\xcf\x11\xe0'))
    throw new Unreadable(
      'unsupported',
      'the file is encrypted, or in the format of an office program before 2007',
    );
  if (named === 'pdf' || ARCHIVED.has(named))
    throw new Unreadable('failed', `the file is not what its name says (${named})`);
  return named;
}

function kindOfArchive({ names, read }: Archive): Kind {
  if (names.includes('mimetype') && names.includes('content.xml')) return 'opendocument';
  const has = (folder: string): boolean => names.some((name) => name.startsWith(folder));
  if (has('word/')) return 'docx';
  if (has('ppt/')) return 'pptx';
  if (has('xl/')) return 'xlsx';
  // Files of other programs are archives too.
  const mimeType = new TextDecoder().decode(read('mimetype')).slice(0, 80);
  throw new Unreadable('unsupported', `the file is an archive${mimeType === '' ? '' : ` (${mimeType})`}`);
}
