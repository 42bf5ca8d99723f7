// A text in passages: the pieces that are found and cited. They follow the document's structure, hold whole sentences or
// lines, and repeat a little of the one before where a section is divided.

import {
  PASSAGE_LENGTH_MAX,
  PASSAGE_OVERLAP_TOKENS_MAX,
  PASSAGE_TOKENS_MAX,
  PASSAGE_TOKENS_MIN,
  PASSAGE_TOKENS_TARGET,
} from './limits.ts';
import type { Block } from './outline.ts';
import { estimateTokens } from './tokens.ts';

/** `text` is exactly that part of the whole text; offsets are in characters (code points), the end excluded. */
export type Passage = {
  start: number;
  end: number;
  page: number | null;
  heading: string | null;
  text: string;
};

/** A sentence, a line, or a piece of one that is too long: what is never divided. Offsets in UTF-16 code units. */
type Unit = { start: number; end: number; tokens: number; block: Block };

/** So large that a passage which has no room for one more is never smaller than PASSAGE_TOKENS_MIN. */
const UNIT_TOKENS_MAX = PASSAGE_TOKENS_MAX - PASSAGE_TOKENS_MIN;
const UNIT_LENGTH_MAX = PASSAGE_LENGTH_MAX / 2;
/** Shorter blocks, as items of a long list, are one unit: a segmenter for each of a million would take a gigabyte. */
const SENTENCES_LENGTH_MIN = 40;

/** The passages of a text, in its order. Every character of the text that is not blank is in one of them at least. */
export function* splitPassages(
  text: string,
  blocks: readonly Block[],
  language: string | null,
): Generator<Passage> {
  const toPassage = createPassages(text);
  let open: Unit[] = [];
  let tokens = 0;
  /** How many of the open units the passage before has already. */
  let repeated = 0;
  for (const unit of unitsOf(text, blocks, language)) {
    const last = open.at(-1);
    if (last !== undefined && open.length > repeated && endsBefore(unit, last, { open, tokens })) {
      const kept = withoutTrailingHeadings(open, repeated, unit);
      yield toPassage(kept);
      const carried = open.slice(kept.length);
      const overlap = carried.length > 0 || opensSection(unit, last) ? [] : overlapOf(kept);
      open = [...overlap, ...carried];
      repeated = overlap.length;
      tokens = tokensOf(open);
    }
    open.push(unit);
    tokens += unit.tokens;
  }
  if (open.length > repeated) yield toPassage(open);
}

/** Whether the open passage ends before the unit: it has no room for it, is large enough, or a section begins. */
function endsBefore(unit: Unit, last: Unit, { open, tokens }: { open: Unit[]; tokens: number }): boolean {
  const first = open[0] ?? last;
  // What is cited has one page.
  if (unit.block.page !== last.block.page) return true;
  if (tokens + unit.tokens > PASSAGE_TOKENS_MAX) return true;
  if (unit.end - first.start > PASSAGE_LENGTH_MAX) return true;
  return tokens >= (opensSection(unit, last) ? PASSAGE_TOKENS_MIN : PASSAGE_TOKENS_TARGET);
}

const opensSection = (unit: Unit, last: Unit): boolean =>
  unit.block !== last.block && (unit.block.role === 'heading' || unit.block.page !== last.block.page);

/** A heading belongs to what follows it, where there is room and something else is left beside what is repeated. */
function withoutTrailingHeadings(open: Unit[], repeated: number, next: Unit): Unit[] {
  const last = open.findLastIndex(({ block }) => block.role !== 'heading');
  const first = open[last + 1];
  if (last < repeated || first === undefined) return open;
  const fits =
    tokensOf(open.slice(last + 1)) + next.tokens <= PASSAGE_TOKENS_MAX &&
    next.end - first.start <= PASSAGE_LENGTH_MAX;
  return fits ? open.slice(0, last + 1) : open;
}

const tokensOf = (units: readonly Unit[]): number => units.reduce((sum, { tokens }) => sum + tokens, 0);

/** The last units of a passage, as far as they are few tokens; never all of it. */
function overlapOf(units: readonly Unit[]): Unit[] {
  let tokens = 0;
  let from = units.length;
  while (from > 1) {
    const unit = units[from - 1];
    if (unit === undefined || tokens + unit.tokens > PASSAGE_OVERLAP_TOKENS_MAX) break;
    tokens += unit.tokens;
    from--;
  }
  return units.slice(from);
}

function* unitsOf(text: string, blocks: readonly Block[], language: string | null): Generator<Unit> {
  const sentences = new Intl.Segmenter(language ?? 'und', { granularity: 'sentence' });
  for (const block of blocks) {
    const borders = block.role === 'lines' ? linesOf(text, block) : sentencesOf(text, block, sentences);
    for (const [from, to] of borders) {
      const [start, end] = trim(text, from, to);
      if (start === end) continue;
      const tokens = estimateTokens(text, start, end);
      if (tokens <= UNIT_TOKENS_MAX && end - start <= UNIT_LENGTH_MAX) yield { start, end, tokens, block };
      else yield* piecesOf(text, [start, end], block);
    }
  }
}

type Range = readonly [start: number, end: number];

function* linesOf(text: string, { start, end }: Block): Generator<Range> {
  for (let from = start; from < end; ) {
    const feed = text.indexOf('\n', from);
    const to = feed === -1 || feed >= end ? end : feed + 1;
    yield [from, to];
    from = to;
  }
}

function* sentencesOf(text: string, { start, end }: Block, segmenter: Intl.Segmenter): Generator<Range> {
  if (end - start < SENTENCES_LENGTH_MIN) {
    yield [start, end];
    return;
  }
  for (const { index, segment } of segmenter.segment(text.slice(start, end)))
    yield [start + index, start + index + segment.length];
}

/** A unit that is too long, divided after blanks where it has any, and never within a character. */
function* piecesOf(text: string, [start, end]: Range, block: Block): Generator<Unit> {
  for (let from = start; from < end; ) {
    let tokens = 0;
    let to = from;
    let blank = from;
    while (to < end && to - from < UNIT_LENGTH_MAX) {
      const step = (text.codePointAt(to) ?? 0) > 0xffff ? 2 : 1;
      const cost = estimateTokens(text, to, to + step);
      if (tokens + cost > UNIT_TOKENS_MAX) break;
      tokens += cost;
      to += step;
      if (cost === 0) blank = to;
    }
    const until = to < end && blank > from ? blank : to;
    const [first, last] = trim(text, from, until);
    if (first < last) yield { start: first, end: last, tokens: estimateTokens(text, first, last), block };
    from = until;
  }
}

function trim(text: string, from: number, to: number): Range {
  const part = text.slice(from, to);
  const start = from + (part.length - part.trimStart().length);
  return part.trim() === '' ? [to, to] : [start, from + part.trimEnd().length];
}

/** Passages of units, which begin in the order of the text: their characters are counted once from one to the next. */
function createPassages(text: string): (units: readonly Unit[]) => Passage {
  let countedTo = 0;
  let characters = 0;
  return (units) => {
    const [first, last] = [units[0], units.at(-1)];
    if (first === undefined || last === undefined) throw new Error('a passage holds a unit at least');
    characters += countCharacters(text, countedTo, first.start);
    countedTo = first.start;
    const length = countCharacters(text, first.start, last.end);
    const { page, heading } = first.block;
    return {
      start: characters,
      end: characters + length,
      page,
      heading,
      text: text.slice(first.start, last.end),
    };
  };
}

/** Code points of a part of a text that is well-formed. */
export function countCharacters(text: string, start = 0, end = text.length): number {
  let pairs = 0;
  for (let index = start; index < end; index++) if ((text.charCodeAt(index) & 0xfc00) === 0xd800) pairs++;
  return end - start - pairs;
}
