import { useEffect, useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { Badge } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Select, TextField } from '../components/field.tsx';
import { Empty, ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { placeOf } from '../content-view.tsx';
import { closeDocument, DocumentDialog } from '../document-dialog.tsx';
import { AddFilter, FilterChips } from '../library-filters.tsx';
import { useResource } from '../resource.ts';
import { hrefWith, navigate, query } from '../router.ts';
import { hasScope, isOwnWorkspace, workspace } from '../state.ts';
import { formatNumber, t } from '../text.ts';

type Request = Schemas['RetrieveRequest'];
type Found = Schemas['RetrievedPassage'];

const MODES = ['hybrid', 'words', 'vectors'] as const;
const LIMITS = ['5', '10', '20', '50'];
const DEFAULT_LIMIT = '10';

type Question = { q: string; mode: (typeof MODES)[number]; limit: string; where: [string, string][] };

const readQuestion = (): Question => ({
  q: query.value.get('q') ?? '',
  mode: MODES.find((each) => each === query.value.get('mode')) ?? 'hybrid',
  limit: LIMITS.find((each) => each === query.value.get('limit')) ?? DEFAULT_LIMIT,
  where: [...new URLSearchParams(query.value.get('where') ?? '')],
});

/** Filters as members of an object; several of one attribute are a list. */
function toFilter(where: readonly [string, string][]): NonNullable<Request['filter']> {
  const filter: Record<string, string[]> = {};
  for (const [attribute, value] of where) filter[attribute] = [...(filter[attribute] ?? []), value];
  return { ...filter, archived: 'false' };
}

const retrieve = ({ q, mode, limit, where }: Question): Promise<Schemas['RetrieveAnswer']> =>
  answerOf(
    api.POST('/admin/call/v1/{workspace_id}/retrieve', {
      params: { path: { workspace_id: workspace.value } },
      body: {
        query: q,
        mode,
        limit: Number(limit),
        explain: true,
        ...(where.length === 0 ? {} : { filter: toFilter(where) }),
      },
    }),
  );

export default function Knowledge() {
  const isOpen = isOwnWorkspace.value && hasScope('documents:read');
  return (
    <Page title={t('page.knowledge')} about={t('knowledge.about')}>
      {isOpen ? (
        <Search />
      ) : (
        <Notice
          title={
            isOwnWorkspace.value
              ? t('usage.scope', { scope: 'documents:read' })
              : t('workspace.key', { workspace: workspace.value })
          }
        />
      )}
    </Page>
  );
}

function Search() {
  const question = readQuestion();
  const found = useResource(
    async () => (question.q === '' ? undefined : { ...(await retrieve(question)), of: question.q }),
    [question.q, question.mode, question.limit, query.value.get('where')],
  );
  const open = query.value.get('document');
  return (
    <>
      <QuestionForm question={question} onAgain={found.reload} />
      <ErrorNotice error={found.error} retry={found.reload} />
      {question.q === '' ? (
        <Empty title={t('knowledge.ask')}>
          <p>{t('knowledge.ask.about')}</p>
        </Empty>
      ) : found.data?.of !== question.q ? (
        found.loading && <Loading />
      ) : (
        <Results of={found.data} />
      )}
      {open === null ? null : <DocumentDialog id={open} onClose={closeDocument} onChanged={found.reload} />}
    </>
  );
}

function QuestionForm({ question, onAgain }: { question: Question; onAgain(): void }) {
  const [words, setWords] = useState(question.q);
  useEffect(() => setWords(question.q), [question.q]);
  const filter = (where: readonly [string, string][]): void =>
    navigate(hrefWith({ where: new URLSearchParams([...where]).toString() }));
  return (
    <div class="stack">
      <form
        class="row end"
        onSubmit={(event) => {
          event.preventDefault();
          if (words.trim() === question.q) onAgain();
          else navigate(hrefWith({ q: words.trim() }));
        }}
      >
        <div class="grow">
          <TextField
            label={t('knowledge.question')}
            type="search"
            value={words}
            onValue={setWords}
            placeholder={t('knowledge.question.hint')}
            autofocus
          />
        </div>
        <div class="field">
          <Select
            label={t('knowledge.mode')}
            value={question.mode}
            onValue={(mode) => navigate(hrefWith({ mode: mode === 'hybrid' ? undefined : mode }))}
            choices={MODES.map((value) => ({ value, label: t(`knowledge.mode.${value}`) }))}
          />
        </div>
        <div class="field">
          <Select
            label={t('knowledge.limit')}
            value={question.limit}
            onValue={(limit) => navigate(hrefWith({ limit: limit === DEFAULT_LIMIT ? undefined : limit }))}
            choices={LIMITS.map((value) => ({ value, label: t('knowledge.limit.most', { count: value }) }))}
          />
        </div>
        <Button look="primary" type="submit">
          {t('knowledge.find')}
        </Button>
      </form>
      <AddFilter onAdd={(each) => filter([...question.where, each])} />
      {question.where.length === 0 ? null : (
        <div class="row">
          <FilterChips filters={question.where} apply={filter} />
        </div>
      )}
    </div>
  );
}

function Results({ of: { passages, engine } }: { of: Schemas['RetrieveAnswer'] }) {
  return (
    <section class="stack" aria-label={t('knowledge.results')}>
      <p class="soft small" role="status">
        {t('knowledge.found', { count: formatNumber(passages.length) })} · {engine}
      </p>
      {passages.length === 0 ? (
        <Empty title={t('knowledge.none')}>
          <p>{t('knowledge.none.about')}</p>
        </Empty>
      ) : (
        <ol class="passages">
          {passages.map((passage) => (
            <Result key={`${passage.document_id} ${passage.start}`} of={passage} />
          ))}
        </ol>
      )}
    </section>
  );
}

const Result = ({ of: passage }: { of: Found }) => (
  <li class="passage">
    <div class="row">
      <a
        class="name"
        href={hrefWith({
          document: passage.document_id,
          show: 'text',
          at: placeOf(passage),
          from: undefined,
        })}
      >
        {passage.name}
      </a>
      {passage.page === null ? null : (
        <span>{t('content.page', { number: formatNumber(passage.page) })}</span>
      )}
      {passage.heading === null ? null : <span class="name soft">{passage.heading}</span>}
    </div>
    <div class="row small soft">
      <Badge>{t('knowledge.score', { score: formatNumber(passage.score) })}</Badge>
      <span>{whyOf(passage)}</span>
    </div>
    <div class="lines">
      <Marked text={passage.text} matches={passage.why?.matches ?? []} />
    </div>
  </li>
);

function whyOf({ why }: Found): string {
  if (why === undefined) return '';
  const part = (name: 'knowledge.by-words' | 'knowledge.by-vectors', score: number | null): string[] =>
    score === null ? [] : [t(name, { score: formatNumber(score) })];
  return [
    ...part('knowledge.by-words', why.words_score),
    ...part('knowledge.by-vectors', why.vectors_score),
    why.words.length === 0
      ? t('knowledge.why.no-words')
      : t('knowledge.why.words', { words: why.words.join(', ') }),
  ].join(' · ');
}

type Match = { start: number; end: number };

/** The text with the words marked that the question has; places count code points. */
function Marked({ text, matches }: { text: string; matches: readonly Match[] }) {
  const characters = [...text];
  const cut = (from: number, to?: number): string => characters.slice(from, to).join('');
  return (
    <>
      {matches.map(({ start, end }, at) => [
        cut(matches[at - 1]?.end ?? 0, start),
        <mark key={start}>{cut(start, end)}</mark>,
      ])}
      {cut(matches.at(-1)?.end ?? 0)}
    </>
  );
}
