// Passages that answer a question: ranked by their words and their vectors, and shown as far as the caller may see their
// documents.

import { LRUCache } from 'lru-cache';
import type { Payer } from '../../core/embed-texts.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { abortable } from '../../core/wait.ts';
import type { Predicate } from '../filter/ast.ts';
import { DEFAULT_ORDER } from '../filter/order.ts';
import type { Viewer } from '../policy.ts';
import type { SearchPlan } from '../search/postgres/statement.ts';
import type { ArchivedChoice, SearchQuery } from '../search/query.ts';
import { createTurns } from '../search/slow-searches.ts';
import type { SearchVectors } from '../vectors/search.ts';
import { fuse } from './fusion.ts';
import { ASKED_MIN, COUNTED_MAX, MANY_KEPT_MS, VIEWERS_KEPT_MAX } from './limits.ts';
import type { createUnderstand, Question } from './question.ts';
import type { createVisible, Passage } from './visible.ts';
import type { Halves, RankedPassage, RankOptions, WordRanking } from './words.ts';

export type RetrieveMode = 'hybrid' | 'words' | 'vectors';

export type FoundPassage = Passage & {
  /** 0 to 1: how much of the question it has, and how near it is. Scores of different modes are not to be compared. */
  score: number;
  /** Absent where it was found by words alone. */
  halves?: Halves;
};

/** A filter as `parseFilters` returns it: what holds for the documents of all passages. */
export type RetrieveFilter = {
  predicates: readonly Predicate[];
  archived: ArchivedChoice;
  /** Of one of these lists every predicate holds, too. */
  anyOf?: readonly (readonly Predicate[])[];
};

export type RetrieveRequest = {
  query: string;
  limit: number;
  mode: RetrieveMode;
  filter: RetrieveFilter | undefined;
  minScore: number | undefined;
  /** An upstream's vector of the question counts for them; beyond their limits the answer is by words. */
  payer?: Payer | undefined;
};

export type Retrieved = { passages: FoundPassage[]; engine: string };

/** Rejects with 503 until search is prepared; with the signal's reason as soon as that aborts, and its statements end then. */
export type Retrieve = (viewer: Viewer, request: RetrieveRequest, signal?: AbortSignal) => Promise<Retrieved>;

type Statements = {
  understand: ReturnType<typeof createUnderstand>;
  words: WordRanking;
  visible: ReturnType<typeof createVisible>;
  weighBySample(question: Question, viewer: Viewer): Promise<Question>;
};

/** A request on its way. */
type Asked = Statements & { viewer: Viewer; request: RetrieveRequest; signal: AbortSignal | undefined };

/** What both halves rank by; each begins what it needs of it, and neither waits for what the other one needs. */
type Ranking = Omit<RankOptions, 'among'> & {
  question: () => Promise<Question>;
  few: () => Promise<string[] | undefined>;
  among(documents: readonly string[] | undefined): RankOptions['among'];
};

export type RetrieveDeps = {
  /** Statements that are cancelled when the signal aborts. */
  statements(signal: AbortSignal | undefined): Statements;
  searchVectors: SearchVectors;
  /** Throws 503 until search is prepared. */
  plan(query: SearchQuery): Promise<SearchPlan>;
  /** For those whose filter no index serves. */
  slow: Semaphore;
};

export function createRetrieve(deps: RetrieveDeps): Retrieve {
  const inTurn = createTurns(deps.slow);
  /** Viewers who have seen many documents of a large workspace. Where they are few by now, more passages are ranked than need be. */
  const many = new LRUCache<string, true>({ max: VIEWERS_KEPT_MAX, ttl: MANY_KEPT_MS });

  return async (viewer, request, signal) => {
    const { predicates = [], archived = 'without', anyOf = [[]] } = request.filter ?? {};
    const plans = await Promise.all(
      anyOf.map((more) =>
        deps.plan({
          viewer,
          predicates: [...predicates, ...more],
          archived,
          order: DEFAULT_ORDER,
          offset: 0,
          limit: 0,
        }),
      ),
    );
    const run = () => retrieve(plans, { viewer, request, signal, ...deps.statements(signal) });
    const retrieved = plans.some(({ slow }) => slow) ? inTurn(viewer.workspaceId, run) : run();
    return signal === undefined ? retrieved : abortable(retrieved, signal);
  };

  async function retrieve(plans: readonly SearchPlan[], asking: Asked): Promise<Retrieved> {
    const { viewer, request, signal, visible } = asking;
    const { query, limit, minScore = 0 } = request;
    signal?.throwIfAborted();
    const understood = once(() => asking.understand(viewer, query));
    const few = once(() => findFew(plans, asking, understood));
    const question = once(async () => weigh(asking, await understood(), few));
    for (let factor = 1; ; factor *= 10) {
      signal?.throwIfAborted();
      const { ranked, more, engine } = await rank(asking, {
        question,
        few,
        limit: factor * Math.max(ASKED_MIN, 2 * limit),
        exact: factor * limit,
        // Where the highest ranks belong to documents that the caller may not see, ranking more of all passages might find only more of those.
        among: (documents) =>
          documents === undefined && factor === 1 ? undefined : visible.among(plans, documents),
      });
      const found = ranked.filter(({ score }) => score >= minScore);
      const passages = await readVisible(plans, asking, found);
      if (passages.length >= limit || !more || found.length < ranked.length) return { passages, engine };
    }
  }

  /**
   * The question with weights that say nothing of passages that the caller does not see: those that they see are counted, in a small
   * workspace or where they see few documents; in a large one the shares of a sample of what they see are taken.
   */
  async function weigh(
    { viewer, words, visible, weighBySample, signal }: Asked,
    question: Question,
    few: () => Promise<string[] | undefined>,
  ): Promise<Question> {
    if (viewer.admin) return question;
    if (question.statistics.passages <= COUNTED_MAX) return words.weigh(question, visible.seen(viewer));
    const documents = await few();
    signal?.throwIfAborted();
    return documents === undefined
      ? weighBySample(question, viewer)
      : words.weigh(question, visible.among([], documents));
  }

  /** The documents that the caller may see, where they are few: their passages are looked at in place of all. */
  async function findFew(
    plans: readonly SearchPlan[],
    { viewer, request, visible, signal }: Asked,
    question: () => Promise<Question>,
  ): Promise<string[] | undefined> {
    const key = JSON.stringify([viewer.workspaceId, viewer.userId, viewer.email, viewer.admin]);
    if (request.filter === undefined && many.has(key)) return undefined;
    const { statistics } = await question();
    signal?.throwIfAborted();
    // All passages of a small workspace are looked at; who may not see all of them looks at their own.
    if (statistics.passages <= COUNTED_MAX && viewer.admin) return undefined;
    const few = await visible.few(plans);
    if (few === undefined && request.filter === undefined) many.set(key, true);
    return few;
  }

  /** `more`: a larger limit could rank others. Where vectors are not available, all modes are those of words. */
  async function rank(
    { request: { query, mode, payer }, viewer, words, visible, signal }: Asked,
    { question, few, among, ...options }: Ranking,
  ): Promise<{ ranked: RankedPassage[]; more: boolean; engine: string }> {
    const { workspaceId } = viewer;
    const { limit } = options;
    const rankWords = async () => {
      const [asked, documents] = await Promise.all([question(), few()]);
      signal?.throwIfAborted();
      return words.rank(asked, { ...options, among: among(documents) });
    };
    let why = NO_VECTORS;
    const limited = (): void => {
      why = NO_VECTORS_LEFT;
    };
    const [nearest, byWords] = await Promise.all([
      mode === 'words'
        ? undefined
        : deps.searchVectors(
            { workspaceId, query, limit, documents: few().then(setOf), payer, limited },
            signal,
          ),
      mode === 'vectors' ? undefined : rankWords(),
    ]);
    if (nearest === undefined) {
      const { found, more } = byWords ?? (await rankWords());
      return {
        ranked: found,
        more,
        engine: mode === 'words' ? WORDS : `${WORDS} (${why})`,
      };
    }
    const { engine } = nearest;
    const full = nearest.found.length >= limit;
    // The least cosine decides what the others are worth: that of a passage which the caller does not see would tell of it.
    const seen = viewer.admin ? undefined : await visible.amongPassages(viewer, nearest.found.map(idOf));
    const found = nearest.found.filter(({ passageId }) => seen?.has(passageId) !== false);
    if (byWords === undefined)
      return {
        ranked: found.map(({ passageId, score }) => ({
          passageId,
          score: Math.min(1, Math.max(0, score)),
          halves: { words: null, vectors: score },
        })),
        more: full,
        engine,
      };
    const known = new Set(byWords.found.map(idOf));
    const others = found.map(idOf).filter((id) => !known.has(id));
    const scored = await words.score(await question(), byWords.counts, others);
    const ranked = fuse([...byWords.found, ...scored], { found });
    return { ranked, more: byWords.more || full, engine: `${WORDS} + ${engine}` };
  }

  async function readVisible(
    plans: readonly SearchPlan[],
    { viewer, request, visible }: Asked,
    ranked: readonly RankedPassage[],
  ): Promise<FoundPassage[]> {
    const ids = ranked.map(({ passageId }) => passageId);
    const read = await visible.read(viewer, plans, ids, request.limit);
    return read.map(({ index, ...passage }) => {
      const { score, halves } = ranked[index] ?? { score: 0 };
      return { ...passage, score, ...(halves === undefined ? {} : { halves }) };
    });
  }
}

const WORDS = 'postgres words';
const NO_VECTORS = 'vectors are not available';
const NO_VECTORS_LEFT = 'no vectors: the limits of the API key do not allow a call of the model';

const idOf = ({ passageId }: { passageId: string }): string => passageId;

const setOf = (ids: readonly string[] | undefined): ReadonlySet<string> | undefined => ids && new Set(ids);

/** The promise of the first call, at every call. */
function once<T>(run: () => Promise<T>): () => Promise<T> {
  let promise: Promise<T> | undefined;
  return () => {
    promise ??= run();
    return promise;
  };
}
