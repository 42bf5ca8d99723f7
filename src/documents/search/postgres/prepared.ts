// A query, prepared: everything that can be known before the documents are read.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { Predicate } from '../../filter/ast.ts';
import { branchesOf } from '../branches.ts';
import { type Conditions, toConditions } from '../conditions.ts';
import type { SearchQuery } from '../query.ts';
import type { CommonTerms } from './common-terms.ts';
import { all } from './fragments.ts';
import { type Ordering, toOrdering } from './ordering.ts';
import { findHoldingWords, type RowTest, toRowTest } from './row-tests.ts';
import type { Size } from './sizes.ts';
import { allTexts, type Selection } from './statements.ts';
import { createSpelling, type TextSearch } from './text.ts';

export type Prepared = {
  query: SearchQuery;
  /** Workspace and classes, whose number of documents is remembered under this name. */
  place: string;
  size: Size | undefined;
  conditions: Conditions;
  /** What the row is asked beyond terms and time. */
  rowTests: RowTest[];
  /** Disjoint; what the viewer may find is what they hold together. */
  selections: Selection[];
  ordering: Ordering;
  /** Undefined without words, and until they are `spelt`. */
  text: TextSearch | undefined;
  /** Words are looked for in rows that terms find. */
  amongTerms: boolean;
  /** With the words of the query, and those that they may have been meant to be, which are looked up once: a mirror seldom needs them. */
  spelt: () => Promise<Prepared>;
};

/** Words that a piece of text is looked for by; a workspace is read sooner than more of them, a small one sooner than they are asked for. */
const HOLDING_MAX: Record<Size, number> = { small: 0, medium: 32, large: 300 };

/** Whether all documents that a query may find may be read for it. */
export const isBounded = ({ size }: Prepared): boolean => size === 'small' || size === 'medium';

/** Whether rows have to be read for a predicate; moments and sizes are counted in an index. */
const isText = ({ attribute, negated }: Predicate): boolean =>
  !negated && attribute !== 'created_at' && attribute !== 'file_size';

/**
 * Whether its statement is planned once for all that are alike. Where a medium workspace is searched for a piece of text, or for words
 * among terms, it is not: how common they are decides.
 */
export const isLasting = (prepared: Prepared): boolean =>
  prepared.size === 'small' || (prepared.size === 'medium' && !prepared.amongTerms && !readsText(prepared));

/** Tests of long texts that a search may make of each document without waiting for its turn. */
const TEXT_TESTS_MAX = 8;

/** Whether no index helps, or so much is asked of each document that none helps enough. */
export const isSlow = ({ rowTests }: Prepared): boolean =>
  rowTests.some(({ slow }) => slow) || rowTests.filter(({ texts }) => texts).length > TEXT_TESTS_MAX;

export const readsText = ({ conditions }: Prepared): boolean => conditions.rest.some(isText);

export function createPrepare(deps: {
  sql: Transaction;
  /** For what is planned once. Default: as everything else. */
  lastingSql?: Transaction;
  bucket: string;
  common: CommonTerms;
  /** Default: no size is known. */
  sizeOf?: (place: string) => Size | undefined;
}) {
  const { sql, lastingSql = sql, bucket, common, sizeOf = () => undefined } = deps;
  const understand = createSpelling(sql);
  return async (query: SearchQuery): Promise<Prepared> => {
    const { workspaceId } = query.viewer;
    const branches = branchesOf(query);
    const place = `${[...new Set(branches.map((branch) => branch.class))]} ${workspaceId}`;
    const size = sizeOf(place);
    const vocabulary = await findHoldingWords(sql, query.predicates, HOLDING_MAX[size ?? 'large']);
    const conditions = toConditions(workspaceId, query.predicates, vocabulary);
    const { required, excluded, from, until } = conditions;
    const context = { sql, workspaceId, bucket, vocabulary };
    const ownTests = conditions.rest.map((predicate) => toRowTest(context, predicate));
    const test = ownTests.length === 0 ? undefined : all(sql, ownTests.map(toSql));
    const texts = ownTests.some((row) => row.texts) ? allTexts(sql) : undefined;
    const isText = (test ?? from ?? until) === undefined && required.length + excluded.length === 0;
    // A plan does not know the words that are asked for; with others beside it, it may have to wait for a large vocabulary.
    const speller = size === 'small' || size === 'medium' ? lastingSql : sql;
    let spelling: Promise<Prepared> | undefined;
    const spelt = () => (spelling ??= understand(workspaceId, query.text ?? '', speller).then(withText));
    const withText = (text?: TextSearch): Prepared => {
      const amongTerms = text !== undefined && required.length > 0;
      const byKey = amongTerms && size === 'small';
      const selections = branches.map((branch) => ({
        workspaceId,
        from,
        until,
        test,
        branch,
        texts: text === undefined ? texts : ranked(sql, text, isText && branch.required === undefined, byKey),
        required: branch.required === undefined ? required : [[branch.required], ...required],
        excluded: branch.excluded === undefined ? excluded : [...new Set([branch.excluded, ...excluded])],
        narrow: branch.required !== undefined && !common.areAll([[branch.required]]),
      }));
      const wordTests = text === undefined ? [] : [{ sql: text.matches, texts: true, slow: false }];
      const rowTests = [...ownTests, ...wordTests];
      const ordering = toOrdering(sql, query.order, text !== undefined);
      return { query, place, size, conditions, rowTests, selections, ordering, text, amongTerms, spelt };
    };
    return withText();
  };
}

/**
 * The rows that match a text, with their `rank`. Where it is all that is asked, they are ranked before they are joined:
 * otherwise Postgres would carry their words through the join. `byKey`: that of a row `s`, which a lasting plan would compare with all.
 */
const ranked = (sql: Transaction, { matches, rank }: TextSearch, first: boolean, byKey: boolean): Fragment =>
  sql`${byKey ? sql`LATERAL` : sql``} (SELECT t.*, ${rank} AS rank FROM document_texts t
    WHERE ${byKey ? sql`t.id = s.id AND` : sql``} ${matches} ${first || byKey ? sql`OFFSET 0` : sql``})`;

const toSql = (row: RowTest) => row.sql;
