import type { Schemas } from '../api.ts';
import { hrefOf } from '../router.ts';
import { t } from '../text.ts';

type Citation = Schemas['ChatMessage']['citations'][number];

const placeOf = ({ page, heading }: Citation): string =>
  [page === null ? '' : t('citations.page', { page }), heading ?? '']
    .filter((part) => part !== '')
    .join(' · ');

/** A passage leads to its quote in the text, a record to its document. */
const linkOf = ({ document_id, page, heading, quote }: Citation): string =>
  hrefOf('library', {
    document: document_id,
    ...(page === null && heading === null
      ? {}
      : { show: 'text', cited: String(page ?? ''), quote: quote ?? '' }),
  });

/** The citations of an answer: by the number in its text, each with its place and its quote. */
export const Citations = ({ of: citations }: { of: readonly Citation[] }) =>
  citations.length === 0 ? null : (
    <ul class="stack small" aria-label={t('citations.title')}>
      {citations.map((citation, at) => (
        <li key={at}>
          <a class="name" href={linkOf(citation)}>
            {citation.number === null ? '' : `[${citation.number}] `}
            {citation.name}
          </a>{' '}
          <span class="soft name">{placeOf(citation)}</span>
          {citation.quote === null ? null : <blockquote class="soft lines">{citation.quote}</blockquote>}
        </li>
      ))}
    </ul>
  );
