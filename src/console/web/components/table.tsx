import type { ComponentChildren } from 'preact';
import type { Resource } from '../resource.ts';
import { hrefWith } from '../router.ts';
import { t } from '../text.ts';
import { LinkButton } from './button.tsx';
import { ErrorNotice, Loading } from './notice.tsx';

export type Column<Row> = {
  /** The heading; empty for a column of actions. */
  title: string;
  cell(row: Row): ComponentChildren;
  kind?: 'number' | 'actions' | 'select';
  /** Stands in the heading instead of the title. */
  heading?: ComponentChildren;
};

const classOf = (kind: Column<never>['kind']): string =>
  kind === undefined || kind === 'number' ? (kind ?? '') : `cell-${kind}`;

type Shape<Row> = { caption: string; columns: readonly Column<Row>[]; keyOf(row: Row): string };

/** A table that scrolls sideways where it is wider than the page. `caption` is read to those who do not see it. */
export const Table = <Row,>({
  caption,
  columns,
  rows,
  keyOf,
}: Shape<Row> & {
  rows: readonly Row[];
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
  <section class="table-frame" tabIndex={0} aria-label={caption}>
    <table class="table">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, kind, heading }) => (
            <th key={title} scope="col" class={kind === 'number' ? 'number' : ''}>
              {kind === 'actions' ? (
                <span class="visually-hidden">{t('table.actions')}</span>
              ) : (
                (heading ?? title)
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, kind, cell }) => (
              <td key={title} class={classOf(kind)} data-title={title}>
                <div class="cell">{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

/** The way to older rows, and back to the newest; the cursor stands in the URL. */
export const Pager = ({
  next,
  cursor,
  name = 'cursor',
}: {
  next: string | null | undefined;
  cursor: string | null;
  name?: string;
}) =>
  next || cursor ? (
    <nav class="pager" aria-label={t('table.pages')}>
      {cursor ? (
        <LinkButton href={hrefWith({ [name]: undefined })}>{t('table.newest')}</LinkButton>
      ) : (
        <span />
      )}
      {next ? (
        <LinkButton href={hrefWith({ [name]: next })}>{t('table.older')}</LinkButton>
      ) : (
        <span>{t('table.end')}</span>
      )}
    </nav>
  ) : null;

/** One page of a list, as the service answers it. `empty` stands where there are no rows. */
export const PagedTable = <Row,>({
  of: { data, error, loading, reload },
  cursor,
  cursorName,
  empty,
  ...shape
}: Shape<Row> & {
  of: Resource<{ items: readonly Row[]; next_cursor: string | null }>;
  cursor: string | null;
  /** The parameter of the URL in which it stands. */
  cursorName?: string;
  empty: ComponentChildren;
}) => (
  <>
    <ErrorNotice error={error} retry={reload} />
    {data === undefined ? (
      loading && <Loading />
    ) : data.items.length === 0 ? (
      empty
    ) : (
      <div class="stack">
        <Table {...shape} rows={data.items} />
        <Pager next={data.next_cursor} cursor={cursor} {...(cursorName ? { name: cursorName } : {})} />
      </div>
    )}
  </>
);
