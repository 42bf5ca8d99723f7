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
      if (classOf(character) !== undefined) marks.push(character);
      else {
        parts.push(inOrder(marks), character);
        marks = [];
      }
    }
  return parts.join('') + inOrder(marks);
}

/** Sorted by class; marks of one class keep their order. */
function inOrder(marks: readonly string[]): string {
  const byRank: string[][] = [];
  for (const mark of marks) {
    const rank = classOf(mark)?.rank ?? 0;
    byRank[rank] ??= [];
    byRank[rank].push(mark);
  }
  return byRank.flat().join('');
}

/** The combining classes of which a mark has come so far, in their order, each with one mark. There are about fifty, of a thousand marks. */
const classes: { readonly mark: string; rank: number }[] = [];
const classByMark = new Map<string, (typeof classes)[number]>();
/** A mark of the first class, and one of the last. */
const FIRST = '\u0334';
const LAST = '\u0345';

/** Undefined for a character that does not change places with marks: its class is zero. A mark is compared with others once. */
function classOf(character: string): (typeof classes)[number] | undefined {
  const known = classByMark.get(character);
  if (known !== undefined) return known;
  if (!changesPlaces(LAST, character) && !changesPlaces(character, FIRST)) return undefined;
  const at = classes.filter(({ mark }) => changesPlaces(character, mark)).length;
  let found = classes[at];
  if (found === undefined || changesPlaces(found.mark, character)) {
    found = { mark: character, rank: at };
    classes.splice(at, 0, found);
    for (const [rank, each] of classes.entries()) each.rank = rank;
  }
  classByMark.set(character, found);
  return found;
}

/** Whether the second one goes first. */
const changesPlaces = (one: string, other: string): boolean =>
  one !== other && `${one}${other}`.normalize('NFD') === `${other}${one}`;
