import { useEffect, useState } from 'preact/hooks';
import { Button } from './components/button.tsx';
import { Copy } from './components/copy.tsx';
import { Select, TextField } from './components/field.tsx';
import { type Search, toQuery } from './library-data.ts';
import type { MessageName } from './messages.ts';
import { hrefOf, hrefWith, navigate } from './router.ts';
import { SavedViewsBar } from './saved-views-bar.tsx';
import { workspace } from './state.ts';
import { t } from './text.ts';

const TEXT = ['contains', 'eq', 'starts_with', 'ends_with', 'neq', 'not_contains', 'in', 'is_empty'];
const LABELS = ['any', 'not_any', 'is_empty'];
const COMPARED = ['gte', 'lte', 'gt', 'lt', 'eq'];

/** The filters of the interface with their operators. */
const OPERATORS: Record<string, readonly string[]> = {
  name: TEXT,
  tags: LABELS,
  categories: LABELS,
  status: ['eq', 'neq'],
  file_type: TEXT,
  file_size: COMPARED,
  created_at: COMPARED,
  summary: TEXT,
  owner_id: ['eq', 'neq'],
  storage_url: TEXT,
  slots: TEXT,
  access: TEXT,
};
const ORDERS = [
  'created_at DESC',
  'created_at ASC',
  'name ASC',
  'name DESC',
  'file_size DESC',
  'file_size ASC',
];

const choicesOf = (words: readonly string[]) =>
  words.map((word) => ({ value: word, label: word.replaceAll('_', ' ') }));

/** The search, and the filters as chips; together they are the URL that programs would send. */
export function Filters({ search }: { search: Search }) {
  const [words, setWords] = useState(search.q);
  useEffect(() => setWords(search.q), [search.q]);
  const [shown, setShown] = useState(false);
  const filters = [...search.where];
  const apply = (where: readonly [string, string][]): void =>
    navigate(hrefWith({ where: new URLSearchParams([...where]).toString(), page: undefined }));
  const url = `${location.origin}/v1/filter/${workspace.value}?${toQuery(search)}`;
  return (
    <div class="stack">
      <div class="row end">
        <form
          class="grow"
          onSubmit={(event) => {
            event.preventDefault();
            navigate(hrefWith({ q: words.trim(), page: undefined }));
          }}
        >
          <TextField
            label={t('library.search')}
            type="search"
            value={words}
            onValue={setWords}
            placeholder={t('library.search.hint')}
          />
        </form>
        {search.q === '' ? (
          <div class="field">
            <Select
              label={t('library.order')}
              value={search.order}
              onValue={(order) => navigate(hrefWith({ order, page: undefined }))}
              choices={ORDERS.map((value) => ({ value, label: t(`library.order.${value}` as MessageName) }))}
            />
          </div>
        ) : null}
      </div>
      <AddFilter onAdd={(filter) => apply([...filters, filter])} />
      {filters.length === 0 && search.q === '' ? null : (
        <div class="row">
          <FilterChips filters={filters} apply={apply} />
          <Button look="plain" onClick={() => setShown(!shown)} aria-expanded={shown}>
            {t('library.filter.url')}
          </Button>
          <a href={hrefOf('library')}>{t('library.filter.clear')}</a>
        </div>
      )}
      {shown ? <Copy text={url} /> : null}
      <SavedViewsBar search={location.search} />
    </div>
  );
}

type Filter = [attribute: string, value: string];

/** Filters that hold, each with the button that removes it. */
export const FilterChips = ({
  filters,
  apply,
}: {
  filters: readonly Filter[];
  apply(filters: readonly Filter[]): void;
}) => (
  <>
    {filters.map(([attribute, value], at) => (
      <span class="filter" key={`${attribute}${value}`}>
        <code>{`${attribute}=${value}`}</code>
        <Button
          look="plain"
          aria-label={t('library.filter.remove', { filter: `${attribute}=${value}` })}
          onClick={() => apply(filters.filter((_, each) => each !== at))}
        >
          ✕
        </Button>
      </span>
    ))}
  </>
);

export function AddFilter({ onAdd }: { onAdd(filter: [string, string]): void }) {
  const [attribute, setAttribute] = useState('name');
  const [operator, setOperator] = useState('contains');
  const [value, setValue] = useState('');
  const operators = OPERATORS[attribute] ?? TEXT;
  return (
    <form
      class="row add-filter"
      onSubmit={(event) => {
        event.preventDefault();
        onAdd([attribute, `${operator}:${value.trim()}`]);
        setValue('');
      }}
    >
      <Select
        label={t('library.filter.attribute')}
        value={attribute}
        onValue={(chosen) => {
          setAttribute(chosen);
          setOperator((OPERATORS[chosen] ?? TEXT)[0] ?? 'eq');
        }}
        choices={choicesOf(Object.keys(OPERATORS))}
      />
      <Select
        label={t('library.filter.operator')}
        value={operator}
        onValue={setOperator}
        choices={choicesOf(operators)}
      />
      <input
        aria-label={t('library.filter.value')}
        placeholder={operator === 'is_empty' ? 'true' : t('library.filter.value')}
        value={value}
        required
        onInput={(event) => setValue(event.currentTarget.value)}
      />
      <Button type="submit">{t('library.filter.add')}</Button>
    </form>
  );
}
