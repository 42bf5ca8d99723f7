// The span of a statement, by the semantic conventions for databases.

import { codeOf } from '../../core/errors.ts';
import type { TraceContext } from '../../core/trace-context.ts';
import { errorTypeOf, type Span, startSpan } from '../../core/tracing.ts';

/** The largest statements have fragments of several kilobytes. */
const TEXT_LENGTH_MAX = 2000;
const DESCRIPTION = { 'db.system.name': 'postgresql' } as const;

/** Undefined where the trace is not sampled. Its name is known when the statement has been built: at its end. */
export const startStatementSpan = (trace: TraceContext | undefined): Span | undefined =>
  trace && startSpan('postgresql', () => ({ kind: 'client', attributes: DESCRIPTION }), trace);

/** `text` has placeholders instead of values; undefined for a statement that was not sent. */
export function endStatementSpan(span: Span, text: string | undefined, error?: unknown): void {
  if (text !== undefined) {
    const { operation, summary } = summarise(text);
    span.rename(summary);
    span.set({
      'db.operation.name': operation,
      'db.query.summary': summary,
      'db.query.text': text.slice(0, TEXT_LENGTH_MAX),
    });
  }
  if (error !== undefined) {
    span.set({ 'db.response.status_code': codeOf(error) || undefined });
    span.fail(errorTypeOf(error));
  }
  span.end();
}

const FIRST_WORD = /^\s*([a-z]+)/i;
const CHANGE =
  /\b(?:(INSERT)\s+INTO|(DELETE)\s+FROM|(UPDATE))\s+([a-z_]\w*)(?=\s+(?:AS\s+)?(?:\w+\s+)?(?:SET|USING|WHERE|RETURNING|VALUES|SELECT|\())/i;
const TABLE = /\b(?:FROM|INTO|UPDATE|JOIN|COPY)\s+(?:ONLY\s+)?([a-z_]\w*)\b(?!\()/i;

/** Such as `SELECT documents`: of the first table that the statement names, or that it changes in a part of itself. */
function summarise(text: string): { operation: string; summary: string } {
  const word = (FIRST_WORD.exec(text)?.[1] ?? 'QUERY').toUpperCase();
  const [, insert, remove, update, changed] = (word === 'WITH' && CHANGE.exec(text)) || [];
  const operation = insert ?? remove ?? update ?? (word === 'WITH' ? 'SELECT' : word);
  const table = changed ?? TABLE.exec(text)?.[1];
  return { operation, summary: table === undefined ? operation : `${operation} ${table}` };
}
