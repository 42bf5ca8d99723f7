import pino from 'pino';
import { explain } from './errors.ts';
import type { TraceContext } from './trace-context.ts';
import { currentTrace } from './tracing.ts';
import { endsWithin } from './wait.ts';

const BLOCK_LENGTH = 8192;
const FLUSH_MS = 100;
/** Time-out of the final write, so that an output that is not read does not keep the process alive. */
const CLOSE_TIMEOUT_MS = 2000;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * The log of all areas. Fields never contain a secret; `err` is the cause. A warning is about another system, so that our
 * stack would not explain it: of its cause the log has only the `reason`.
 */
export type Logger = Pick<ProcessLog, 'debug' | 'info' | 'warn' | 'error'>;

/** The log of the process itself. */
export type ProcessLog = ReturnType<typeof createLogger>;

export type AccessLog = (entry: AccessEntry) => void;

export type AccessEntry = {
  method: string;
  route: string;
  /** The requested path without the query, bounded. */
  path: () => string;
  status: number;
  ms: number;
  requestId: string;
  keyId: string | undefined;
  /** The workspace of the key. */
  workspaceId: string | undefined;
  /** The model that was asked for. Undefined for a name that is not known, which may be a secret. */
  model: string | undefined;
  /** The IP address of the client, which is asked for only by a log that has it. */
  client: () => string | undefined;
  /** What was called, of a route that stands for several operations; likewise. */
  called: string | undefined;
  /** Undefined without tracing. */
  trace: TraceContext | undefined;
};

/**
 * One line an entry on standard output: JSON, or a readable one for a terminal. JSON lines are written in blocks, at
 * the latest after 100 ms and at `close()`: a killed process may lose the last of them.
 */
export function createLogger({ level, format }: { level: LogLevel; format: 'json' | 'pretty' }) {
  const isPretty = format === 'pretty';
  const destination = pino.destination(
    isPretty
      ? { dest: 1, sync: true }
      : { dest: 1, sync: false, minLength: BLOCK_LENGTH, periodicFlush: FLUSH_MS },
  );
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => traceFields(currentTrace()),
    },
    isPretty ? prettyStream(destination) : destination,
  );
  const announcing = log.child({}, { level: 'info' });
  return {
    debug: (fields: object, message: string): void => log.debug(fields, message),
    info: (fields: object, message: string): void => log.info(fields, message),
    warn: (fields: object, message: string): void => log.warn(withReason(fields), message),
    error: (fields: object, message: string): void => log.error(fields, message),
    /** Writes a message that the starter of the process waits for, at every level. */
    announce: (fields: object, message: string): void => announcing.info(fields, message),
    /** Writes the line of a request. */
    access(entry: AccessEntry): void {
      if (!log.isLevelEnabled('info')) return;
      if (isPretty) destination.write(renderAccess(entry));
      else log.info(accessFields(entry), 'request');
    },
    /** Resolves when everything is written. */
    async close(): Promise<void> {
      if (isPretty) return;
      // flushSync would omit the block that is being written.
      const closed = new Promise<void>((resolve) => destination.once('close', resolve));
      destination.end();
      await endsWithin(closed, CLOSE_TIMEOUT_MS);
    },
  };
}

function prettyStream(destination: { write(text: string): boolean }): pino.DestinationStream {
  // A log that a machine reads does without it.
  const { prettyFactory } = import.meta.require('pino-pretty') as typeof import('pino-pretty');
  const render = prettyFactory({
    translateTime: 'SYS:HH:MM:ss',
    customPrettifiers: { time: String },
    colorize: process.stdout.isTTY,
    singleLine: true,
    ignore: 'pid',
  });
  return { write: (line) => void destination.write(render(line)) };
}

/** The statuses of answers whose route does not identify the path. */
const UNFOUND: ReadonlySet<number> = new Set([404, 405]);

const accessFields = ({ method, route, path, status, ms, trace, ...entry }: AccessEntry): object => ({
  method,
  route,
  called: entry.called,
  path: UNFOUND.has(status) ? path() : undefined,
  status,
  ms,
  request_id: entry.requestId,
  key_id: entry.keyId,
  workspace: entry.workspaceId,
  client: entry.client(),
  model: entry.model === undefined ? undefined : withoutKeys(entry.model),
  ...traceFields(trace),
});

/** `12:00:01 GET /v1/default/trash 200 1.2 ms default key …9a3f01`. Ids of keys begin with a time, and differ at their ends. */
function renderAccess({ method, path, status, ms, keyId, workspaceId, model, called }: AccessEntry): string {
  const words = [
    new Date().toTimeString().slice(0, 8),
    method,
    path(),
    called,
    model === undefined ? undefined : JSON.stringify(withoutKeys(model)),
    status,
    `${ms.toFixed(1)} ms`,
    workspaceId,
    keyId === undefined ? undefined : `key …${keyId.slice(-6)}`,
  ];
  return `${words.filter((word) => word !== undefined).join(' ')}\n`;
}

const MODEL_CHARACTERS_MAX = 100;

/** A model's name, bounded, and without text that has the form of a key: callers write there what they like. */
const withoutKeys = (model: string): string =>
  model
    .slice(0, MODEL_CHARACTERS_MAX)
    .toWellFormed()
    .replaceAll(/atr_\w+/g, 'atr_…');

/** Names the trace of the request or the job that logs. */
const traceFields = (trace: TraceContext | undefined): object =>
  trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };

function withReason(fields: object): object {
  const { err, ...others } = fields as { err?: unknown };
  return err === undefined || isOurMistake(err) ? fields : { ...others, reason: explain(err) };
}

/** Errors that only a mistake in our code causes; those of `fetch` have a code. */
const isOurMistake = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) &&
  !('code' in error);
