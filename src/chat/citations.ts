// Citations are shown only to readers who may see the documents now, whatever held when the answer was made.

import type { Principal } from '../core/principal.ts';
import type { AnswerStream } from './answer-stream.ts';
import type { Citation } from './turn.ts';

/** Which of the documents (by id, of the caller's workspace) the caller may see; those that are gone are not among them. */
export type VisibleDocuments = (principal: Principal, ids: readonly string[]) => Promise<ReadonlySet<string>>;

/** Rows with those of their citations that the caller may see: one round trip for all of them, none where nothing is cited. */
export type ShowCitations = <Row extends { citations: Citation[] }>(
  principal: Principal,
  rows: readonly Row[],
) => Promise<Row[]>;

export const createShowCitations =
  (visibleDocuments: VisibleDocuments): ShowCitations =>
  async (principal, rows) => {
    const ids = rows.flatMap(({ citations }) => citations.map(({ document_id }) => document_id));
    const visible =
      ids.length > 0 && principal.scopes.has('documents:read')
        ? await visibleDocuments(principal, [...new Set(ids)])
        : new Set<string>();
    return rows.map((row) => ({
      ...row,
      citations: row.citations.filter(({ document_id }) => visible.has(document_id)),
    }));
  };

/** The answer as the caller is shown it. */
export function shownTo(principal: Principal, answerStream: AnswerStream, show: ShowCitations): AnswerStream {
  const outcome = answerStream.outcome.then(async (answered) => {
    const [shown = answered] = await show(principal, [answered]);
    return shown;
  });
  // The caller may have gone: then a rejection has no other handler.
  outcome.catch(() => undefined);
  return { ...answerStream, outcome };
}
