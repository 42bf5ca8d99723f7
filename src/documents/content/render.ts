import type { Content } from './states.ts';

/** The state of a document's text, as answers have it; `reads`: whether files are read at all. */
export function renderContent(content: Omit<Content, 'revision'>, reads: boolean) {
  const { state, reason, language, pages, characters, passages, given } = content;
  const known = {
    language,
    pages,
    characters: characters ?? 0,
    passages: passages ?? 0,
    given: given ?? false,
  };
  const unread = (why: string) => ({ status: 'unsupported', reason: why, reading: 'off', ...known });
  if (state === 'off') return unread('the text of this document is not kept');
  if (state !== null && state !== 'pending') return { status: state, reason, reading: 'on', ...known };
  if (!reads) return unread('contents are not read here (CONTENT=off)');
  if (state === null && !content.readsFiles) return unread('files of this workspace are not read');
  return { status: 'pending', reason, reading: 'on', ...known };
}
