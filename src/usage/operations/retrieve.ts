import type { Clock } from '../../core/clock.ts';
import {
  cursorsAround,
  FIRST_PAGE,
  LAST_PAGE,
  type PageCursor,
  type Position,
  parseCursor,
  renderCursor,
  type TimeWindow,
} from '../cursor.ts';
import { DAY_MS, PAGE_SIZE_DEFAULT, TAIL_MS } from '../limits.ts';
import type { StorageBarrier } from '../store/lock-stripes.ts';
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

/** Pages of the events of workspaces. */
export class EventPages {
  private readonly reader: EventReader;
  private readonly barrier: Pick<StorageBarrier, 'wait'>;
  private readonly clock: Clock;
  /** 0 keeps all events. */
  private readonly retentionDays: number;
  private secret: Buffer | undefined;

  constructor(deps: {
    reader: EventReader;
    barrier: Pick<StorageBarrier, 'wait'>;
    clock: Clock;
    retentionDays: number;
  }) {
    this.reader = deps.reader;
    this.barrier = deps.barrier;
    this.clock = deps.clock;
    this.retentionDays = deps.retentionDays;
  }

  /** Reads one page. Throws 400 for a cursor that is not of this workspace and window. */
  async read(workspaceId: string, query: RetrieveQuery) {
    const asked: TimeWindow = { workspaceId, from: query.from, to: query.to };
    this.secret ??= await this.reader.cursorSecret();
    const signing = this.secret;
    const first = query.fromEnd ? LAST_PAGE : FIRST_PAGE;
    const cursor = query.cursor === undefined ? first : parseCursor(signing, asked, query.cursor);
    const keptSince = this.clock.now().getTime() - this.retentionDays * DAY_MS;
    const from =
      this.retentionDays === 0 ? asked.from : Math.max(asked.from ?? Number.NEGATIVE_INFINITY, keptSince);
    const window = { ...asked, from };
    const size = query.size ?? PAGE_SIZE_DEFAULT;
    const [rows, total] = await Promise.all([
      this.readSettled(window, cursor, size),
      query.includeTotal ? this.reader.total(window) : null,
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
  }

  /**
   * After a page that reaches the end of the window, a reader may never request this time again. So the page is read
   * once more after all commits in progress with a time of the window.
   */
  private async readSettled(window: TimeWindow, cursor: PageCursor, size: number): Promise<StoredEvent[]> {
    const isOver = window.to !== undefined && window.to < this.clock.now().getTime() - TAIL_MS;
    const fromEnd = cursor.backwards && cursor.position === undefined;
    if (fromEnd && !isOver) await this.barrier.wait(window.workspaceId);
    const rows = await this.reader.page(window, cursor, size);
    if (isOver || cursor.backwards || rows.length > size) return rows;
    await this.barrier.wait(window.workspaceId);
    return this.reader.page(window, cursor, size);
  }
}

export type MetricPage = Awaited<ReturnType<EventPages['read']>>;

const positionOf = (event: StoredEvent): Position => ({ createdAtMs: toMs(event.created_at), id: event.id });
