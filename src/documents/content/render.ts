import type { Static } from '@sinclair/typebox';
import { conflict } from '../../core/errors.ts';
import type { ContentRead } from './schema.ts';
import type { Content } from './states.ts';

/** The state of a document's text, as answers have it; `reads`: whether files are read at all. */
export function renderContent(
  content: Omit<Content, 'revision'>,
  reads: boolean,
): Static<typeof ContentRead> {
  const { state, reason, language, pages, characters, passages, given } = content;
  const known = {
    language,
    pages,
    characters: characters ?? 0,
    passages: passages ?? 0,
    given: given ?? false,
  };
  const unread = (why: string) => ({ status: 'unsupported', reason: why, reading: 'off', ...known }) as const;
  if (state === 'off') return unread('the text of this document is not kept');
  if (state !== null && state !== 'pending') return { status: state, reason, reading: 'on', ...known };
  if (!reads) return unread('contents are not read here (CONTENT=off)');
  if (state === null && !content.readsFiles) return unread('files of this workspace are not read');
  return { status: 'pending', reason, reading: 'on', ...known };
}

/** False where the text is empty. Throws 409 where there is none. */
export function hasText(content: Omit<Content, 'revision'>, reads: boolean): boolean {
  const { status, reason } = renderContent(content, reads);
  if (status !== 'ready' && status !== 'empty')
    throw conflict(`The document has no text: it is ${status}${reason === null ? '' : ` (${reason})`}`);
  return status === 'ready';
}
