// Two ways to the same answer, of which the cheaper is taken.

/** The dearer way is tried again once the cheaper has taken this many times as long: it adds a fiftieth at most. */
const TRY_AGAIN = 50;
/** Kinds of questions that are remembered; beyond it all are forgotten. */
const KINDS_MAX = 10_000;

export type Choice<Way extends string> = {
  /** The way for the next question of a kind: the first of all and the second once, then what has been cheaper of late. */
  of(kind: string): Way;
  /** What a question took by this way. */
  learn(kind: string, way: Way, ms: number): void;
  /** What questions of the kind have taken by this way of late; undefined before the first. */
  figure(kind: string, way: Way): number | undefined;
};

export function createChoice<Way extends string>(first: Way, second: Way): Choice<Way> {
  const known = new Map<string, { ms: Map<Way, number>; spentMs: number }>();
  return {
    figure: (kind, way) => known.get(kind)?.ms.get(way),
    of(kind) {
      const found = known.get(kind);
      const [one, other] = [found?.ms.get(first), found?.ms.get(second)];
      if (found === undefined || one === undefined) return first;
      if (other === undefined) return second;
      const [cheaper, dearer] = one <= other ? [first, second] : [second, first];
      if (found.spentMs <= TRY_AGAIN * Math.max(one, other)) return cheaper;
      // By one question alone, although others may come before it is answered.
      found.spentMs = 0;
      return dearer;
    },
    learn(kind, way, ms) {
      if (known.size >= KINDS_MAX) known.clear();
      const { ms: figures, spentMs } = known.get(kind) ?? { ms: new Map<Way, number>(), spentMs: 0 };
      const before = figures.get(way) ?? ms;
      // A single slow answer says little: the machine may have been busy. A quick one says what is possible.
      figures.set(way, before + (ms - before) / (ms < before ? 2 : 8));
      known.set(kind, { ms: figures, spentMs: spentMs + ms });
    },
  };
}
