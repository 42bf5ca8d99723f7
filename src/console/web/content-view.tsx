// The text of a document, and its passages.

import { useEffect, useRef } from 'preact/hooks';
import { LinkButton } from './components/button.tsx';
import { Empty, ErrorNotice, Loading } from './components/notice.tsx';
import {
  type Content,
  findQuote,
  type Passage,
  readPassages,
  readText,
  SHOWN_CHARACTERS,
  type TextWindow,
} from './content-data.ts';
import { useResource } from './resource.ts';
import { hrefWith, query } from './router.ts';
import { formatNumber, t } from './text.ts';

/** Code points before a passage, when the text is opened at it. */
const BEFORE_PASSAGE = 1000;

/** The place in the text that the URL names as `at=start-end`, in code points. */
function readPlace(): { start: number; end: number } | undefined {
  const [, start, end] = /^(\d{1,9})-(\d{1,9})$/.exec(query.value.get('at') ?? '') ?? [];
  return start === undefined ? undefined : { start: Number(start), end: Number(end) };
}

export const placeOf = ({ start, end }: { start: number; end: number }): string => `${start}-${end}`;

/** The beginning of the shown part: that of the URL, else a little before the passage. */
function readFrom(start: number | undefined): number {
  const from = Number(query.value.get('from') ?? Number.NaN);
  if (Number.isSafeInteger(from) && from >= 0) return from;
  return start === undefined ? 0 : Math.max(0, start - BEFORE_PASSAGE);
}

/** Parts of the text, the one first that holds the place, or the citation, which the URL names. */
export function TextView({ id, content }: { id: string; content: Content }) {
  const isReady = content.status === 'ready';
  const [page, quote] = [query.value.get('cited') ?? '', query.value.get('quote') ?? ''];
  const isCited = isReady && (page !== '' || quote !== '');
  const cited = useResource(
    async () => (isCited ? findQuote(id, page, quote) : undefined),
    [id, page, quote, content.status, content.characters],
  );
  const isSought = isCited && cited.data === undefined && cited.error === undefined;
  const place = readPlace() ?? cited.data;
  const from = readFrom(place?.start);
  const part = useResource(
    async () => (isReady && !isSought ? readText(id, from) : undefined),
    [id, from, content.status, content.characters, isSought],
  );
  if (!isReady) return null;
  if (part.data === undefined)
    return part.error === undefined ? <Loading /> : <ErrorNotice error={part.error} retry={part.reload} />;
  return (
    <div class="stack">
      <MarkedText part={part.data} place={place} />
      <nav class="pager" aria-label={t('content.parts')}>
        <span>
          {t('content.range', {
            first: formatNumber(part.data.from + Math.min(1, part.data.characters.length)),
            last: formatNumber(part.data.from + part.data.characters.length),
            total: formatNumber(content.characters),
          })}
        </span>
        <span class="row">
          {from > 0 ? (
            <LinkButton
              href={hrefWith({ from: String(Math.max(0, from - SHOWN_CHARACTERS)), at: undefined })}
            >
              {t('library.previous')}
            </LinkButton>
          ) : null}
          {part.data.more ? (
            <LinkButton href={hrefWith({ from: String(from + SHOWN_CHARACTERS), at: undefined })}>
              {t('library.next')}
            </LinkButton>
          ) : null}
        </span>
      </nav>
    </div>
  );
}

function MarkedText({
  part,
  place,
}: {
  part: TextWindow;
  place: { start: number; end: number } | undefined;
}) {
  const mark = useRef<HTMLElement>(null);
  useEffect(() => mark.current?.scrollIntoView({ block: 'center' }), [place?.start, part]);
  const cut = (from: number, to?: number): string => part.characters.slice(Math.max(0, from), to).join('');
  const [start, end] = [(place?.start ?? 0) - part.from, (place?.end ?? 0) - part.from];
  const isMarked = end > 0 && start < part.characters.length;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <section class="preview text" tabIndex={0} aria-label={t('content.text')}>
      {isMarked ? (
        <>
          {cut(0, Math.max(0, start))}
          <mark ref={mark}>{cut(start, end)}</mark>
          {cut(end)}
        </>
      ) : (
        cut(0)
      )}
    </section>
  );
}

/** The passages, page by page; the URL's `passage` is the first one. */
export function PassageList({ id }: { id: string }) {
  const first = query.value.get('passage') ?? '';
  const page = useResource(() => readPassages(id, first), [id, first]);
  if (page.data === undefined)
    return page.error === undefined ? <Loading /> : <ErrorNotice error={page.error} retry={page.reload} />;
  const { items, next_cursor: next } = page.data;
  if (items.length === 0) return <Empty title={t('content.passages.none')} />;
  return (
    <div class="stack">
      <ol class="passages">
        {items.map((passage) => (
          <PassageItem key={passage.passage} of={passage} />
        ))}
      </ol>
      <nav class="pager" aria-label={t('table.pages')}>
        {first === '' ? (
          <span />
        ) : (
          <LinkButton href={hrefWith({ passage: undefined })}>{t('content.passages.first')}</LinkButton>
        )}
        {next === null ? (
          <span>{t('table.end')}</span>
        ) : (
          <LinkButton href={hrefWith({ passage: next })}>{t('library.next')}</LinkButton>
        )}
      </nav>
    </div>
  );
}

const PassageItem = ({ of: passage }: { of: Passage }) => (
  <li class="passage">
    <div class="row small soft">
      <span>{t('content.passage', { number: formatNumber(passage.passage + 1) })}</span>
      {passage.page === null ? null : (
        <span>{t('content.page', { number: formatNumber(passage.page) })}</span>
      )}
      {passage.heading === null ? null : <span class="name">{passage.heading}</span>}
      <a href={hrefWith({ show: 'text', at: placeOf(passage), from: undefined })}>{t('content.in-text')}</a>
    </div>
    <div class="lines">{passage.text}</div>
  </li>
);
