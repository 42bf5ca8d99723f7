// How many documents workspaces have, as searches have counted them: it decides how the next ones read them.

/** Small: all that match are read in one round trip. Medium: they are where their total has to be counted row by row, too. */
export type Size = 'small' | 'medium' | 'large';

const BOUNDS = { small: 1000, medium: 20_000 };
/** For so long a size is remembered; a workspace that has grown meanwhile costs time, not truth. */
const REMEMBERED_MS = 60_000;
/** For so long a place is taken for a large one after a search of it has taken too long. */
const DISTRUSTED_MS = 600_000;
const PLACES_MAX = 10_000;
/** Stands for the number of documents of a place that is taken for a large one. */
const DISTRUSTED = Number.POSITIVE_INFINITY;

export type Sizes = ReturnType<typeof createSizes>;

/** Of places: workspaces together with the classes of documents that are asked for. */
export function createSizes(bounds = BOUNDS) {
  const known = new Map<string, { documents: number; until: number }>();
  const sizeOf = (documents: number): Size =>
    documents <= bounds.small ? 'small' : documents <= bounds.medium ? 'medium' : 'large';
  const find = (place: string): number | undefined => {
    const found = known.get(place);
    return found !== undefined && found.until > performance.now() ? found.documents : undefined;
  };
  const remember = (place: string, documents: number, forMs: number): void => {
    if (known.size >= PLACES_MAX) known.clear();
    known.set(place, { documents, until: performance.now() + forMs });
  };
  const isDistrusted = (place: string): boolean => find(place) === DISTRUSTED;
  return {
    /** Undefined while it is not known. */
    of(place: string): Size | undefined {
      const documents = find(place);
      return documents === undefined ? undefined : documents === DISTRUSTED ? 'large' : sizeOf(documents);
    },
    learn(place: string, documents: number): void {
      if (!isDistrusted(place)) remember(place, documents, REMEMBERED_MS);
    },
    /** A search has read for too long there, however few the documents are. */
    distrust: (place: string): void => remember(place, DISTRUSTED, DISTRUSTED_MS),
    isDistrusted,
    /** Forgets a size that is too small for the number of documents that a search has found. */
    check(place: string, found: number): void {
      const documents = known.get(place)?.documents ?? found;
      if (sizeOf(Math.max(documents, found)) !== sizeOf(documents)) known.delete(place);
    },
  };
}
