import type { Clock } from '../../core/clock.ts';
import { parseCursor, renderCursor, type TimeWindow } from '../cursor.ts';
import { PAGE_SIZE_DEFAULT, TAIL_MS } from '../limits.ts';
import { cursorsAround, FIRST_PAGE, LAST_PAGE, type PageCursor, type Position } from '../page.ts';
import { type EventReader, type StoredEvent, toMs } from '../store/reader.ts';

export type RetrieveQuery = {
  from: number | undefined;
  to: number | undefined;
  cursor?: string;
  /** Without a cursor: begins with the last page instead of the first. */
  fromEnd?: boolean;
  size?: number;
  includeTotal: boolean;
};

export type RetrieveDeps = {
  reader: EventReader;
  /** Resolves when the workspace's transactions in progress are committed. */
  awaitStoring(workspaceId: string): Promise<void>;
  /** The begin of the retention period; undefined: all events are kept. */
  keptSince(): number | undefined;
  clock: Clock;
};

/** Reads one page of a workspace's events. Throws 400 for a cursor that is not of this workspace and window. */
export function createRetrieve({ reader, awaitStoring, keptSince, clock }: RetrieveDeps) {
  let secret: Buffer | undefined;

  return async (workspaceId: string, query: RetrieveQuery) => {
    const asked: TimeWindow = { workspaceId, from: query.from, to: query.to };
    secret ??= await reader.cursorSecret();
    const signing = secret;
    const first = query.fromEnd ? LAST_PAGE : FIRST_PAGE;
    const cursor = query.cursor === undefined ? first : parseCursor(signing, asked, query.cursor);
    const window = { ...asked, from: laterOf(asked.from, keptSince()) };
    const size = query.size ?? PAGE_SIZE_DEFAULT;
    const [rows, total] = await Promise.all([
      readSettled(window, cursor, size),
      query.includeTotal ? reader.total(window) : null,
    ]);
    const more = rows.length > size;
    const events = cursor.backwards ? rows.slice(more ? 1 : 0) : rows.slice(0, size);
    const beyond = more ? (cursor.backwards ? rows[0] : rows.at(-1)) : undefined;
    const cursors = cursorsAround(cursor, {
      positions: [...events.slice(0, 1), ...events.slice(-1)].map(positionOf),
      beyond: beyond === undefined ? undefined : positionOf(beyond),
    });
    const render = (to: PageCursor): string => renderCursor(signing, asked, to);
    return {
      events,
      total,
      currentPage: render(cursors.current),
      currentPageBackwards: render(cursors.currentBackwards),
      previousPage: cursors.previous === undefined ? null : render(cursors.previous),
      nextPage: cursors.next === undefined ? null : render(cursors.next),
    };
  };

  /**
   * After a page that reaches the end of the window, a reader may never request this time again. So the page is read
   * once more after all commits in progress with a time of the window.
   */
  async function readSettled(window: TimeWindow, cursor: PageCursor, size: number): Promise<StoredEvent[]> {
    const isOver = window.to !== undefined && window.to < clock.now().getTime() - TAIL_MS;
    const fromEnd = cursor.backwards && cursor.position === undefined;
    if (fromEnd && !isOver) await awaitStoring(window.workspaceId);
    const rows = await reader.page(window, cursor, size);
    if (isOver || cursor.backwards || rows.length > size) return rows;
    await awaitStoring(window.workspaceId);
    return reader.page(window, cursor, size);
  }
}

export type MetricPage = Awaited<ReturnType<ReturnType<typeof createRetrieve>>>;

const positionOf = (event: StoredEvent): Position => ({ createdAtMs: toMs(event.created_at), id: event.id });

const laterOf = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);
