// An answer with its citations, while it is written: what can be sent of each delta, and what is known at its end.

import type { Passage } from '../knowledge/passage.ts';
import type { Citation } from '../turn.ts';
import { citationsOf } from './citations.ts';
import { createNumbering } from './numbering.ts';

export type CitingAnswer = {
  /** What can be sent now. */
  push(delta: string): string;
  /** The text to send after the text so far, and the citations of both. */
  end(text: string): Promise<{ rest: string; citations: Citation[] }>;
  /** The citations of an answer that ends with this text, in the middle. */
  cite(text: string): Promise<Citation[]>;
};

/**
 * `unsupportedText` stands behind an answer that no passage supports, unless the model has said so itself; undefined: an
 * answer needs no support.
 */
export function createCitingAnswer({
  question,
  passages,
  unsupportedText,
}: {
  question: string;
  passages: readonly Passage[];
  unsupportedText: string | undefined;
}): CitingAnswer {
  const numbering = createNumbering(passages.length, { asksNone: unsupportedText !== undefined });
  const cite = (answer: string) => citationsOf({ answer, question, passages, used: numbering.used });
  return {
    push: numbering.push,
    cite,
    async end(text) {
      const kept = numbering.end();
      const answer = text + kept;
      const citations = await cite(answer);
      const isSaid = unsupportedText === undefined || citations.length > 0 || numbering.restsOnNone();
      if (isSaid) return { rest: kept, citations };
      return { rest: `${kept}${answer.trim() === '' ? '' : '\n\n'}${unsupportedText}`, citations };
    },
  };
}
