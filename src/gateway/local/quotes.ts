// `local-echo` cites: where numbered documents precede a question, as agents with knowledge show them, it quotes the sentences that
// have the words of the question, each with the number of its document.

import { createExcerpts, termsOf } from '../../core/excerpt.ts';

/** The prompt of the chat area names the block by a digest and escapes what stands in it. */
const BLOCK = /^<(documents-[0-9a-f]{32})>\n[\s\S]*<\/\1>$/;
const DOCUMENT = /<document number="(\d{1,3})"[^>]*>\n([^<]*)\n<\/document>/g;
const DOCUMENTS_MAX = 16;
const DOCUMENT_LENGTH_MAX = 4096;
const QUOTE_LENGTH_MAX = 300;
/** A document is quoted if it has more of the question's words than this share of those in the best document. */
const SHARE_OF_BEST_MIN = 0.5;

/** The question, and a paragraph for each document of the block that has its words. Without such a block: the question. */
export function withQuotes(question: string, block: string): string {
  if (!BLOCK.test(block)) return question;
  const terms = termsOf(question.slice(0, DOCUMENT_LENGTH_MAX));
  const documents = [...block.matchAll(DOCUMENT)].slice(0, DOCUMENTS_MAX);
  const quotes = documents.map(([, number, text = '']) => ({
    number,
    ...createExcerpts(toText(text).slice(0, DOCUMENT_LENGTH_MAX), QUOTE_LENGTH_MAX)(terms),
  }));
  const best = Math.max(0, ...quotes.map(({ share }) => share));
  const quoted = quotes.filter(({ share }) => share > best * SHARE_OF_BEST_MIN);
  return [question, ...quoted.map(({ number, text }) => `${text} [${number}]`)].join('\n\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' };

/** A bracketed number in a document must not be read as a citation. */
const toText = (escaped: string): string =>
  escaped
    .replaceAll(/&#\d+;\s*(\^?\d[^\]】］\n]{0,40})[\]】］]/gu, '($1)')
    .replaceAll(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
