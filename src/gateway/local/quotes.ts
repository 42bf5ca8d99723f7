// Of numbered documents that `local-echo` is shown before a question, as agents with knowledge of documents show them, it quotes the
// sentences that have the question's words, each with its document's number, so that citing can be seen to work.

import { createExcerpts, termsOf } from '../../core/excerpt.ts';
import { ECHO_DOCUMENT_UNITS_MAX, ECHO_DOCUMENTS_MAX, ECHO_QUOTE_UNITS_MAX } from '../limits.ts';

/** The prompt of the chat area names the block by a digest and escapes what stands in it. */
const BLOCK = /^<(documents-[0-9a-f]{32})>\n[\s\S]*<\/\1>$/;
const DOCUMENT = /<document number="(\d{1,3})"[^>]*>\n([^<]*)\n<\/document>/g;

/** A document is not quoted if it has fewer of the question's words than this share of those in the best document. */
const SHARE_OF_BEST_MIN = 0.5;

/** The question, and behind it a paragraph for each of the documents in the block that deals with it. */
export function withQuotes(question: string, block: string): string {
  if (!BLOCK.test(block)) return question;
  const terms = termsOf(question.slice(0, ECHO_DOCUMENT_UNITS_MAX));
  const quotes = [...block.matchAll(DOCUMENT)].slice(0, ECHO_DOCUMENTS_MAX).map(([, number, text = '']) => {
    const excerptOf = createExcerpts(toText(text).slice(0, ECHO_DOCUMENT_UNITS_MAX), ECHO_QUOTE_UNITS_MAX);
    return { number, ...excerptOf(terms) };
  });
  const best = Math.max(0, ...quotes.map(({ share }) => share));
  const quoted = quotes.filter(({ share }) => share > 0 && share >= best * SHARE_OF_BEST_MIN);
  return [question, ...quoted.map(({ number, text }) => `${text} [${number}]`)].join('\n\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' };

/** A bracketed number in a document must not be read as a citation. */
const toText = (escaped: string): string =>
  escaped
    .replaceAll(/&#\d+;\s*(\^?\d[^\]】］\n]{0,40})[\]】］]/gu, '($1)')
    .replaceAll(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
