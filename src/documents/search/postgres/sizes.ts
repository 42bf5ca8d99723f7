// How many documents workspaces have, as searches have counted them: it decides how the next ones read them.

/** Small: all that match are read in one round trip. Medium: they are where their total has to be counted row by row, too. */
export type Size = 'small' | 'medium' | 'large';

const BOUNDS = { small: 1000, medium: 20_000 };
/** For so long a size is remembered; a workspace that has grown meanwhile costs time, not truth. */
const REMEMBERED_MS = 60_000;
const PLACES_MAX = 10_000;

export type Sizes = ReturnType<typeof createSizes>;

/** Of places: workspaces together with the classes of documents that are asked for. */
export function createSizes(bounds = BOUNDS) {
  const known = new Map<string, { documents: number; until: number }>();
  const sizeOf = (documents: number): Size =>
    documents <= bounds.small ? 'small' : documents <= bounds.medium ? 'medium' : 'large';
  return {
    /** Undefined while it is not known. */
    of(place: string): Size | undefined {
      const found = known.get(place);
      return found !== undefined && found.until > performance.now() ? sizeOf(found.documents) : undefined;
    },
    learn(place: string, documents: number): void {
      if (known.size >= PLACES_MAX) known.clear();
      known.set(place, { documents, until: performance.now() + REMEMBERED_MS });
    },
    /** Forgets a size that is too small for the number of documents that a search has found. */
    check(place: string, found: number): void {
      const documents = known.get(place)?.documents ?? found;
      if (sizeOf(Math.max(documents, found)) !== sizeOf(documents)) known.delete(place);
    },
  };
}
