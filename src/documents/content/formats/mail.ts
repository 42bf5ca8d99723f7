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

type Context = { outline: Outline; readFile: ReadAttachment; depth: number };

async function readOne(bytes: Uint8Array, context: Context): Promise<void> {
  const { outline, depth } = context;
  const mail = await PostalMime.parse(bytes, { rfc822Attachments: true, forceRfc822Attachments: true });
  outline.heading(Math.min(6, depth), mail.subject?.trim() || 'Mail');
  outline.lines(headersOf(mail).join('\n'), { fenced: false });
  if (mail.text !== undefined && mail.text.trim() !== '') readPlainText(mail.text, outline);
  else if (mail.html !== undefined) readHtml(mail.html, outline);
  for (const attachment of mail.attachments) await readAttachment(attachment, context);
}

async function readAttachment(
  { filename, mimeType, content }: Email['attachments'][number],
  context: Context,
): Promise<void> {
  const { outline, depth, readFile } = context;
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
