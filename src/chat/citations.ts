// The citations of an answer: the passages that it names by number, or, where it names none, those whose words it has. Texts
// are compared in time slices: each comparison is short, and there are many.

import { createExcerpts, sentencesOf, type Terms, termsOf, termsWithout } from '../core/excerpt.ts';
import { createPauses } from '../core/time-slices.ts';
import {
  ANSWER_COMPARED_MAX,
  CLAIM_LENGTH_MAX,
  CLAIM_PLACES_MAX,
  CLAIMS_MAX,
  QUOTE_LENGTH_MAX,
  SENTENCES_COMPARED_MAX,
} from './limits.ts';
import { createNumbering } from './numbering.ts';
import type { Citation, Passage } from './turn.ts';

export type CitingAnswer = ReturnType<typeof createCitingAnswer>;

/**
 * An answer with its citations while it is written. `unsupportedText` stands behind an answer that no passage supports, unless the model has said so itself; undefined: an
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
}) {
  const numbering = createNumbering(passages.length, { asksNone: unsupportedText !== undefined });
  const cite = (answer: string) => citationsOf({ answer, question, passages, used: numbering.used });
  return {
    /** The part of the text that can be sent now. */
    push: (delta: string): string => numbering.push(delta),
    /** The citations of an answer that was stopped after this text. */
    cite,
    /** The text to send after the text so far, and the citations of both. */
    async end(text: string): Promise<{ rest: string; citations: Citation[] }> {
      const kept = numbering.end();
      const answer = text + kept;
      const citations = await cite(answer);
      const isSaid = unsupportedText === undefined || citations.length > 0 || numbering.restsOnNone();
      if (isSaid) return { rest: kept, citations };
      return { rest: `${kept}${answer.trim() === '' ? '' : '\n\n'}${unsupportedText}`, citations };
    },
  };
}

type Cited = {
  /** The answer as it is stored. */
  answer: string;
  question: string;
  passages: readonly Passage[];
  /** The indexes of the passages that the answer names, in the order of their numbers in it. */
  used: readonly number[];
};

/** A number that no passage has is no citation; an answer that no passage supports has none. */
export async function citationsOf(cited: Cited): Promise<Citation[]> {
  const asked = termsOf(cited.question.slice(0, ANSWER_COMPARED_MAX));
  const pause = createPauses();
  return cited.used.length > 0 ? numbered(cited, asked, pause) : supporting(cited, asked, pause);
}

type Pause = ReturnType<typeof createPauses>;

async function numbered({ answer, passages, used }: Cited, asked: Terms, pause: Pause): Promise<Citation[]> {
  const citations: Citation[] = [];
  for (const [position, index] of used.entries()) {
    const passage = passages[index];
    if (passage === undefined) continue;
    await pause();
    const number = position + 1;
    const excerptOf = createExcerpts(passage.text, QUOTE_LENGTH_MAX);
    const claimed = excerptOf(termsOf(claimsOf(answer, number).join('\n')));
    // An answer in another language has no word of the passage, but the question may have some.
    const { text } = claimed.shared > 0 ? claimed : excerptOf(asked);
    citations.push(toCitation(passage, { number, quote: text }));
  }
  return citations;
}

/** The sentence of the answer that the number belongs to: the one before the number, or, at the beginning of a line, the one after it. */
function claimsOf(answer: string, number: number): string[] {
  const marker = `[${number}]`;
  const claims: string[] = [];
  let at = answer.indexOf(marker);
  for (let place = 0; at !== -1 && place < CLAIM_PLACES_MAX; place++) {
    const before = withoutNumbers(answer.slice(Math.max(0, at - CLAIM_LENGTH_MAX), at));
    const behind = withoutNumbers(answer.slice(at, at + CLAIM_LENGTH_MAX));
    const startsLine = before.slice(before.lastIndexOf('\n') + 1).trim() === '';
    const text = startsLine ? behind.trimStart() : before;
    const sentence = startsLine ? sentencesOf(text)[0] : sentencesOf(text).at(-1);
    if (sentence !== undefined) claims.push(text.slice(sentence.start, sentence.end));
    if (claims.length === CLAIMS_MAX) break;
    at = answer.indexOf(marker, at + 1);
  }
  return claims;
}

const withoutNumbers = (text: string): string => text.replaceAll(/\[\d{1,3}\]/g, '');

/** A sentence rests on a passage that has this share of its words, and at least so many of them, in neighbouring sentences. */
const SHARE_MIN = 0.6;
const SHARED_MIN = 3;

/** Words of the question are no evidence, because every answer may repeat them. */
async function supporting({ answer, passages }: Cited, asked: Terms, pause: Pause): Promise<Citation[]> {
  const excerpts: ReturnType<typeof createExcerpts>[] = [];
  for (const { text } of passages) {
    await pause();
    excerpts.push(createExcerpts(text, QUOTE_LENGTH_MAX));
  }
  const supported = new Map<number, Map<string, number>>();
  for (const terms of comparedTerms(answer, asked)) {
    let best = { index: -1, share: 0 };
    for (const [index, excerptOf] of excerpts.entries()) {
      await pause();
      const { share, shared } = excerptOf(terms);
      if (shared >= SHARED_MIN && share >= SHARE_MIN && share > best.share) best = { index, share };
    }
    if (best.index === -1) continue;
    supported.set(best.index, new Map([...(supported.get(best.index) ?? []), ...terms]));
  }
  return [...supported].flatMap(([index, terms]) => {
    const passage = passages[index];
    const quote = excerpts[index]?.(terms).text ?? '';
    return passage === undefined ? [] : [toCitation(passage, { number: null, quote })];
  });
}

/** The terms of the first sentences that have enough of them, each once: more say nothing else, and cost time. */
function comparedTerms(answer: string, asked: Terms): Terms[] {
  const compared = answer.slice(0, ANSWER_COMPARED_MAX);
  const sentences = new Set(sentencesOf(compared).map(({ start, end }) => compared.slice(start, end)));
  return [...sentences]
    .map((sentence) => termsWithout(termsOf(sentence), asked))
    .filter(({ size }) => size >= SHARED_MIN)
    .slice(0, SENTENCES_COMPARED_MAX);
}

const toCitation = (
  { document_id, name, page, heading, score }: Passage,
  { number, quote }: { number: number | null; quote: string },
): Citation => ({ number, document_id, name, page, heading, quote: quote === '' ? null : quote, score });

/** An answer with a line for each source, for chat apps, which have no other place for citations. */
export const withSources = (answer: string, citations: readonly Citation[]): string =>
  citations.length === 0 ? answer : `${answer}\n\n${[...new Set(citations.map(renderSource))].join('\n')}`;

const renderSource = ({ number, name, page }: Citation): string =>
  `${number === null ? '•' : `[${number}]`} ${inOneLine(name)}${page === null ? '' : `, p. ${page}`}`;

/** Without the characters that chat apps make links of. */
const inOneLine = (name: string): string => name.replaceAll(/[\p{Cc}\u2028\u2029<>]/gu, ' ');
