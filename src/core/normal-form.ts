// Unicode normalisation whose time grows with the text alone. The engine puts a run of combining marks into their order by insertion, in
// the square of its length: of a megabyte of marks it would take minutes, during which nothing else is answered.

/** What decomposes into marks alone: marks, and the halfwidth sound marks of Japanese. In front, what may end in some. */
const LONG_RUN = /[^\p{M}\uff9e\uff9f]?[\p{M}\uff9e\uff9f]{32,}/gu;
const SHORT_TEXT = 64;

/** As `String.normalize`. */
export function toNormalForm(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  if (text.length <= SHORT_TEXT) return text.normalize(form);
  const decomposition = form === 'NFC' ? 'NFD' : 'NFKD';
  return text.replace(LONG_RUN, (run) => decomposeRun(run, decomposition)).normalize(form);
}

function decomposeRun(run: string, form: 'NFD' | 'NFKD'): string {
  const parts: string[] = [];
  let marks: string[] = [];
  for (const composed of run)
    for (const character of composed.normalize(form)) {
      if (isReordered(character)) marks.push(character);
      else {
        parts.push(inOrder(marks), character);
        marks = [];
      }
    }
  return parts.join('') + inOrder(marks);
}

/** Whether it is a mark of the first class, or of the last; the others lie between. */
const FIRST = '\u0334';
const LAST = '\u0345';

const reordered = new Map<string, boolean>();
/** Whether it changes places with other marks: its combining class is not zero. */
function isReordered(character: string): boolean {
  const known = reordered.get(character);
  if (known !== undefined) return known;
  const changes = compare(LAST, character) > 0 || compare(character, FIRST) > 0;
  if (changes) reordered.set(character, true);
  return changes;
}

/** Marks by their combining class: positive where the second one goes first. */
const compare = (one: string, other: string): number =>
  changesPlaces(one, other) ? 1 : changesPlaces(other, one) ? -1 : 0;

const changesPlaces = (one: string, other: string): boolean =>
  one !== other && `${one}${other}`.normalize('NFD') === `${other}${one}`;

/** Sorted by class; marks of one class keep their order. There are about a thousand different marks. */
function inOrder(marks: readonly string[]): string {
  const different = [...new Set(marks)].sort(compare);
  const ranks = new Map<string, number>();
  let rank = 0;
  for (const [at, mark] of different.entries()) {
    if (at > 0 && compare(different[at - 1] ?? '', mark) !== 0) rank += 1;
    ranks.set(mark, rank);
  }
  const classes: string[][] = Array.from({ length: rank + 1 }, () => []);
  for (const mark of marks) classes[ranks.get(mark) ?? 0]?.push(mark);
  return classes.flat().join('');
}
