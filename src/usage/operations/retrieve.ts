import type { Clock } from '../../core/clock.ts';
import { parseCursor, renderCursor, type Window } from '../cursor.ts';
import { PAGE_SIZE_DEFAULT, TAIL_MS } from '../limits.ts';
import { FIRST_PAGE, type Place, type Turn, turnsAround } from '../page.ts';
import { type EventReader, type StoredEvent, toMs } from '../store/reader.ts';

export type RetrieveQuery = {
  from: number | undefined;
  to: number | undefined;
  cursor?: string;
  size?: number;
  includeTotal: boolean;
};

export type MetricPage = {
  events: StoredEvent[];
  total: number | null;
  currentPage: string;
  currentPageBackwards: string;
  previousPage: string | null;
  nextPage: string | null;
};

export type RetrieveDeps = {
  reader: EventReader;
  /** Resolves when the workspace's transactions in progress are committed. */
  awaitStoring(workspaceId: string): Promise<void>;
  /** Before it, events are not kept; undefined: all are. */
  keptSince(): number | undefined;
  clock: Clock;
};

/** Reads one page of a workspace's events. Throws 400 for a cursor that is not of this workspace and window. */
export function createRetrieve({ reader, awaitStoring, keptSince, clock }: RetrieveDeps) {
  let secret: Buffer | undefined;

  return async (workspaceId: string, query: RetrieveQuery): Promise<MetricPage> => {
    const asked: Window = { workspaceId, from: query.from, to: query.to };
    secret ??= await reader.cursorSecret();
    const signing = secret;
    const turn = query.cursor === undefined ? FIRST_PAGE : parseCursor(signing, asked, query.cursor);
    const window = { ...asked, from: laterOf(asked.from, keptSince()) };
    const size = query.size ?? PAGE_SIZE_DEFAULT;
    const [rows, total] = await Promise.all([
      readSettled(window, turn, size),
      query.includeTotal ? reader.total(window) : null,
    ]);
    const more = rows.length > size;
    const events = turn.backwards ? rows.slice(more ? 1 : 0) : rows.slice(0, size);
    const beyond = more ? (turn.backwards ? rows[0] : rows.at(-1)) : undefined;
    const turns = turnsAround(turn, {
      places: events.map(placeOf),
      beyond: beyond === undefined ? undefined : placeOf(beyond),
    });
    const cursor = (to: Turn): string => renderCursor(signing, asked, to);
    return {
      events,
      total,
      currentPage: cursor(turns.current),
      currentPageBackwards: cursor(turns.currentBackwards),
      previousPage: turns.previous === undefined ? null : cursor(turns.previous),
      nextPage: turns.next === undefined ? null : cursor(turns.next),
    };
  };

  /**
   * After a page that reaches the end of the window, a reader may never request this time again. So the page is read
   * once more after all commits in progress with a time of the window.
   */
  async function readSettled(window: Window, turn: Turn, size: number): Promise<StoredEvent[]> {
    const isOver = window.to !== undefined && window.to < clock.now().getTime() - TAIL_MS;
    const fromEnd = turn.backwards && turn.place === undefined;
    if (fromEnd && !isOver) await awaitStoring(window.workspaceId);
    const rows = await reader.page(window, turn, size);
    if (isOver || turn.backwards || rows.length > size) return rows;
    await awaitStoring(window.workspaceId);
    return reader.page(window, turn, size);
  }
}

const placeOf = (event: StoredEvent): Place => ({ createdAtMs: toMs(event.created_at), id: event.id });

const laterOf = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);
