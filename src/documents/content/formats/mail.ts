// Mails (RFC 5322): sender, recipients, text and attachments, also of mails that are attached.

import PostalMime, { type Address, type Email } from 'postal-mime';
import { MAIL_DEPTH_MAX } from '../limits.ts';
import { type Outline, TextFull } from '../outline.ts';
import type { SourceFile } from '../source-file.ts';
import { readHtml } from './html.ts';
import { kindOf } from './kinds.ts';
import { readPlainText } from './plain.ts';

/** Reads an attachment into the outline. */
export type ReadAttachment = (file: SourceFile, outline: Outline) => Promise<unknown>;

export async function readMail(bytes: Uint8Array, outline: Outline, readFile: ReadAttachment): Promise<void> {
  await readOne(bytes, { outline, readFile, depth: 1 });
}

/** The texts of one part of a mail, in one or both of the forms. */
type Texts = { plain: string[]; html: string[] };

/**
 * Collects the texts of a mail's parts. The parser itself would make plain text of each page of HTML, by patterns whose time can
 * grow with the square of its length; these methods of it are in the place of that.
 */
class MailParser extends PostalMime {
  readonly texts = new Map<object, Texts>();

  addTextEntry(part: object, form: keyof Texts, { value }: { value: unknown }): void {
    if (typeof value !== 'string') return;
    this.texts.getOrInsertComputed(part, () => ({ plain: [], html: [] }))[form].push(value);
  }

  renderTextContent(): void {
    // The texts are read one by one.
  }
}

type Context = { outline: Outline; readFile: ReadAttachment; depth: number };

async function readOne(bytes: Uint8Array, context: Context): Promise<void> {
  const { outline, depth } = context;
  const parser = new MailParser({ rfc822Attachments: true, forceRfc822Attachments: true });
  const mail = await parser.parse(bytes);
  outline.heading(Math.min(6, depth), mail.subject?.trim() || 'Mail');
  outline.lines(headersOf(mail).join('\n'), { fenced: false });
  for (const { plain, html } of parser.texts.values()) {
    if (plain.some((text) => text.trim() !== '')) readPlainText(plain.join('\n'), outline);
    else for (const page of html) readHtml(page, outline);
  }
  for (const attachment of mail.attachments) await readAttachment(attachment, context);
}

async function readAttachment(
  { filename, mimeType, content }: Email['attachments'][number],
  context: Context,
): Promise<void> {
  const { outline, depth, readFile } = context;
  outline.checkTime();
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content);
  const file = { bytes, name: filename ?? '', contentType: mimeType };
  const isMail = mimeType === 'message/rfc822' || kindOf(file) === 'mail';
  if (filename !== null && filename !== '') outline.paragraph(filename);
  if (depth >= MAIL_DEPTH_MAX) return;
  if (isMail) return readOne(bytes, { ...context, depth: depth + 1 });
  try {
    await readFile(file, outline);
  } catch (error) {
    // An attachment that cannot be read is named, and the rest of the mail is read.
    if (error instanceof TextFull) throw error;
  }
}

const headersOf = ({ from, to, cc, date }: Email): string[] =>
  [
    ['From', from === undefined ? '' : addressOf(from)],
    ['To', (to ?? []).map(addressOf).join(', ')],
    ['Cc', (cc ?? []).map(addressOf).join(', ')],
    ['Date', date ?? ''],
  ]
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}`);

const addressOf = ({ name, address }: Address): string =>
  address === undefined || address === '' ? name : name === '' ? address : `${name} <${address}>`;
