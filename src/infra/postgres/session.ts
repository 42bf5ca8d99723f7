/** One connection to the database. It is never opened again: what is lost with it (locks, subscriptions) would be missed. */
import type { Socket } from 'node:net';
import postgres from 'postgres';
import { toError } from '../../core/errors.ts';
import { errorTypeOf, type Span, startSpan } from '../../core/tracing.ts';
import { arrayOids, columnTypes, type JsonCodec } from './column-types.ts';
import { createTag, type Query, type Transaction } from './tag.ts';
import { ConnectionLost, DatabaseTimeout, markDatabaseError } from './unavailable.ts';

export type SessionOptions = {
  url: string;
  json?: JsonCodec | undefined;
  open: () => Promise<Socket>;
  settings: Record<string, string>;
  /** How long a statement may take, the opening of the connection included; 0: no limit. */
  timeoutMs: number;
  isLost: (error: unknown) => boolean;
  onNotification?: ((channel: string, payload: string) => void) | undefined;
  /** The server has answered a statement, perhaps with an error. */
  onAnswer?: (error: Error | undefined) => void;
  /** The connection was lost; not called after `end`. */
  onLost?: ((error: Error) => void) | undefined;
};

const CONNECT_TIMEOUT_SECONDS = 4;
const KEEP_ALIVE_SECONDS = 30;

export class Session {
  /** Statements of this session. */
  readonly sql: Transaction;
  readonly openedAt = performance.now();
  usedAt = this.openedAt;
  statements = 0;
  /** Why it takes no more statements. */
  closed: Error | undefined;
  private readonly options: SessionOptions;
  private readonly client: postgres.Sql;
  private readonly send: Query['handler'];
  private readonly running = new Set<Query>();
  private socket: Promise<Socket> | undefined;

  /** The first statement opens the connection. */
  constructor(options: SessionOptions) {
    this.options = options;
    this.client = openClient(options, {
      socket: () => this.open(),
      onnotify: options.onNotification ?? (() => {}),
      onclose: () => this.lose(new ConnectionLost()),
    });
    this.send = (this.client.unsafe('') as unknown as Query).handler;
    this.sql = createTag(this.client, (query) => void this.run(query));
  }

  /** Sends a statement; resolves when it has ended, in whatever way. */
  async run(query: Query): Promise<void> {
    if (this.closed !== undefined) return query.reject(this.closed);
    if (query.signal?.aborted === true) return query.reject(query.signal.reason);
    const { timeoutMs, onAnswer, isLost } = this.options;
    const span = query.trace && startSpan('postgresql', () => SPAN, query.trace);
    const timer =
      timeoutMs > 0 ? setTimeout(() => this.lose(new DatabaseTimeout(timeoutMs)), timeoutMs) : undefined;
    let leaving: Promise<void> | undefined;
    const leave = (): void => {
      leaving = this.cancel(query);
    };
    query.signal?.addEventListener('abort', leave, { once: true });
    // postgres.js 3.4 counts rows by connection, and wrongly after a statement that failed amid its rows (porsager/postgres#1181).
    query.forEachFn ??= appendRow;
    // Before the caller sees the error.
    const { reject } = query;
    query.reject = (reason) => {
      markDatabaseError(reason);
      reject(reason);
    };
    this.running.add(query);
    this.send(query);
    const error = await query.then(() => undefined, toError);
    clearTimeout(timer);
    query.signal?.removeEventListener('abort', leave);
    this.running.delete(query);
    this.statements += 1;
    this.usedAt = performance.now();
    if (error === undefined || 'severity' in error) onAnswer?.(error);
    if (isLost(error)) this.lose(toError(error));
    if (span !== undefined) endSpan(span, query, error);
    await leaving;
  }

  /** Closes the connection; a statement that runs after the time fails. */
  async end(timeoutSeconds: number): Promise<void> {
    this.closed ??= new ConnectionLost();
    await this.client.end({ timeout: timeoutSeconds });
    await this.socket?.then((socket) => void socket.destroy()).catch(() => undefined);
  }

  /** Closes it at once: its statements fail with the error. */
  private lose(error: Error): void {
    if (this.closed !== undefined) return;
    this.closed = error;
    for (const query of this.running) query.reject(error);
    void this.end(0);
    this.options.onLost?.(error);
  }

  /** Ends a statement at the server, and then the session: the next statement could be the one that is cancelled. */
  private async cancel(query: Query): Promise<void> {
    this.closed ??= new ConnectionLost();
    query.reject(query.signal?.reason);
    if (query.state !== null) {
      const { onLost, onAnswer, ...options } = this.options;
      const other = new Session(options);
      await other.sql`SELECT pg_cancel_backend(${query.state.pid})`.catch(() => undefined);
      void other.end(1);
    }
    await this.end(0);
  }

  private async open(): Promise<Socket> {
    // postgres.js connects again if the first connection ends before it is ready.
    if (this.socket !== undefined) throw new ConnectionLost();
    this.socket = this.options.open();
    return this.socket;
  }
}

const appendRow = (row: unknown, result: unknown[]): void => {
  result.push(row);
};

/** A client of postgres.js with a single connection. */
export function openClient(
  { url, json, settings }: Pick<SessionOptions, 'url' | 'json' | 'settings'>,
  own: object = {},
): postgres.Sql {
  const client = postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    idle_timeout: null,
    max_lifetime: null,
    keep_alive: KEEP_ALIVE_SECONDS,
    fetch_types: false,
    types: columnTypes(json),
    connection: settings,
    onnotice: () => {},
    ...own,
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>);
  // The map that `fetch_types` would fill.
  const { shared } = client.options as unknown as { shared: { typeArrayMap: Record<string, number> } };
  Object.assign(shared.typeArrayMap, arrayOids);
  return client;
}

/** Attributes by the semantic conventions for databases. */
const SPAN = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } } as const;
/** The largest statements have fragments of several kilobytes. */
const TRACED_LENGTH_MAX = 2000;
const CHANGE = /\b(?:(INSERT)\s+INTO|(DELETE)\s+FROM|(UPDATE)(?=\s+\w+\s+(?:AS\s+)?(?:\w+\s+)?SET))\s+(\w+)/i;
const TABLE = /\bFROM\s+(\w+)\b(?!\()/i;

function endSpan(span: Span, query: Query, error: Error | undefined): void {
  const text = query.statement?.string ?? '';
  span.rename(summarise(text));
  span.set({ 'db.query.text': text.slice(0, TRACED_LENGTH_MAX) });
  if (error !== undefined) span.fail(errorTypeOf(error));
  span.end();
}

/** The change that a statement makes, or the table that it reads first, such as `SELECT documents`. */
function summarise(text: string): string {
  const [, insert, remove, update, changed] = CHANGE.exec(text) ?? [];
  const operation = insert ?? remove ?? update ?? /[a-z]+/i.exec(text)?.[0] ?? 'QUERY';
  const table = changed ?? TABLE.exec(text)?.[1];
  return `${operation.toUpperCase()}${table === undefined ? '' : ` ${table}`}`;
}
