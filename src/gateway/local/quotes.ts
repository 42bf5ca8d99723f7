// `local-echo` cites: where numbered documents precede a question, as agents with knowledge show them, it quotes the sentences that
// have the words of the question, each with the number of its document.

import { createExcerpts, type Terms, termsOf, termsWithout, weightOf } from '../../core/excerpt.ts';
import { createPauses } from '../../core/time-slices.ts';

/** The prompt of the chat area names the block by a digest and escapes what stands in it. */
const BLOCK = /^<(documents-[0-9a-f]{32})>\n[\s\S]*<\/\1>$/;
const DOCUMENT = /<document number="(\d{1,3})"([^>]*)>\n([^<]*)\n<\/document>/g;
const HEADING = / heading="([^"]*)"/;
/** Between the headings of a path. */
const WITHIN = ' › ';

const DOCUMENTS_MAX = 16;
const DOCUMENT_LENGTH_MAX = 4096;
const QUOTE_LENGTH_MAX = 300;
/** A document is quoted if it has more of the question's words than this share of those in the best document. */
const SHARE_OF_BEST_MIN = 0.5;

/** The question, and a paragraph for each document of the block that has its words. Without such a block: the question. */
export async function withQuotes(question: string, block: string): Promise<string> {
  if (!BLOCK.test(block)) return question;
  const terms = termsOf(question.slice(0, DOCUMENT_LENGTH_MAX));
  const documents = [...block.matchAll(DOCUMENT)].slice(0, DOCUMENTS_MAX);
  const quotes: (Quote & { number: string | undefined })[] = [];
  const pause = createPauses();
  for (const [, number, attributes = '', text = ''] of documents) {
    await pause();
    const [, path = ''] = HEADING.exec(attributes) ?? [];
    const heading = toText(path).split(WITHIN).at(-1) ?? '';
    quotes.push({ number, ...quoteOf(terms, heading, toText(text).slice(0, DOCUMENT_LENGTH_MAX)) });
  }
  const best = Math.max(0, ...quotes.map(({ weight }) => weight));
  const quoted = quotes.filter(({ weight }) => weight > best * SHARE_OF_BEST_MIN);
  return [question, ...quoted.map(({ number, text }) => `${text} [${number}]`)].join('\n\n');
}

type Quote = { text: string; weight: number };

/** The best excerpt of a text, by the weight of the terms that it and the nearest heading above it have. */
function quoteOf(terms: Terms, heading: string, text: string): Quote {
  let best: Quote = { text: '', weight: 0 };
  for (const section of sectionsOf(heading, text)) {
    const ownTerms = termsOf(section.heading);
    const others = termsWithout(terms, ownTerms);
    const excerpt = createExcerpts(section.text, QUOTE_LENGTH_MAX)(others);
    const weight = weightOf(terms) - weightOf(others) * (1 - excerpt.share);
    if (weight > best.weight) best = { text: excerpt.text, weight };
  }
  return best;
}

/** A paragraph of one short line without an end of a sentence, an item's mark or columns. */
const LOOKS_LIKE_HEADING = /^(?!•)[^\t\n]{1,100}(?<![.!?…:;,。！？])$/u;

/** A heading is plain text in a passage. What only looks like one has no text below it, and is a text itself; these come last. */
function sectionsOf(heading: string, text: string): { heading: string; text: string }[] {
  const sections = [{ heading, text: '' }];
  const paragraphs = text.split(/\n{2,}/);
  for (const [index, paragraph] of paragraphs.entries()) {
    const last = sections.at(-1);
    const isHeading = LOOKS_LIKE_HEADING.test(paragraph) && index < paragraphs.length - 1;
    if (isHeading || last === undefined) sections.push({ heading: paragraph, text: '' });
    else last.text += `${last.text === '' ? '' : '\n\n'}${paragraph}`;
  }
  const [filled, bare] = [
    sections.filter((each) => each.text !== ''),
    sections.filter((each) => each.text === ''),
  ];
  return [...filled, ...bare.map((each) => ({ heading: '', text: each.heading }))];
}

const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' };

/** A bracketed number in a document must not be read as a citation. */
const toText = (escaped: string): string =>
  escaped
    .replaceAll(/&#\d+;\s*(\^?\d[^\]】］\n]{0,40})[\]】］]/gu, '($1)')
    .replaceAll(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
