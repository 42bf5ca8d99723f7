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

export type AccessEntry = {
  method: string;
  route: string;
  /** The requested path without the query: visible ASCII without quotes, bounded. */
  path: () => string;
  status: number;
  ms: number;
  /** Visible ASCII without quotes. */
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

export type AccessLog = (entry: AccessEntry) => void;

/** The log of the process itself. */
export class ProcessLog {
  private readonly pino: pino.Logger;
  /** Writes a message that the starter of the process waits for, at every level. */
  readonly announce: Logger['info'];
  readonly access: AccessLog;
  /** Resolves when everything is written. */
  readonly close: () => Promise<void>;

  constructor(log: pino.Logger, output: { access: AccessLog; close: () => Promise<void> }) {
    this.pino = log;
    this.access = log.isLevelEnabled('info') ? output.access : () => undefined;
    this.close = output.close;
    const announcing = log.child({}, { level: 'info' });
    this.announce = (fields, message) => announcing.info(fields, message);
  }

  debug(fields: object, message: string): void {
    this.pino.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.pino.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.pino.warn(withReason(fields), message);
  }

  error(fields: object, message: string): void {
    this.pino.error(fields, message);
  }
}

type Format = 'json' | 'pretty';

/**
 * One line an entry on standard output: JSON, or a readable one for a terminal. JSON lines are written in blocks, at
 * the latest after 100 ms and at `close()`: a killed process may lose the last of them.
 */
export const createLogger = (options: { level: LogLevel; format: Format }): ProcessLog =>
  options.format === 'pretty' ? createPrettyLogger(options.level) : createJsonLogger(options.level);

function createPrettyLogger(level: LogLevel): ProcessLog {
  const destination = pino.destination({ dest: 1, sync: true });
  // A log that a machine reads does without it.
  const { prettyFactory } = import.meta.require('pino-pretty') as typeof import('pino-pretty');
  const render = prettyFactory({
    translateTime: 'SYS:HH:MM:ss',
    customPrettifiers: { time: String },
    colorize: process.stdout.isTTY,
    singleLine: true,
    ignore: 'pid',
  });
  const log = createPino(level, { write: (line) => void destination.write(render(line)) });
  const access: AccessLog = (entry) => void destination.write(renderAccess(entry));
  return new ProcessLog(log, { access, close: async () => undefined });
}

/** `12:00:01 GET /v1/default/trash 200 1.2 ms default key …9a3f01`. Ids of keys begin with a time, and differ at their ends. */
function renderAccess({ method, path, status, ms, keyId, workspaceId, model, called }: AccessEntry): string {
  const time = new Date().toTimeString().slice(0, 8);
  const key = keyId === undefined ? '' : ` key …${keyId.slice(-6)}`;
  const what = called === undefined ? '' : ` ${called}`;
  const whose = workspaceId === undefined ? '' : ` ${workspaceId}`;
  const which = model === undefined ? '' : ` ${showModel(model)}`;
  return `${time} ${method} ${path()}${what}${which} ${status} ${ms.toFixed(1)} ms${whose}${key}\n`;
}

function createJsonLogger(level: LogLevel): ProcessLog {
  const destination = pino.destination({ dest: 1, sync: false });
  // Lines are joined here, because the destination measures and copies each text that is written.
  let lines = '';
  const handOn = (): void => {
    if (lines !== '') destination.write(lines);
    lines = '';
  };
  const joining = {
    write(line: string): void {
      lines += line;
      if (lines.length >= BLOCK_LENGTH) handOn();
    },
  };
  const flushing = setInterval(handOn, FLUSH_MS);
  flushing.unref();
  const log = createPino(level, joining);
  const now = createIsoClock();
  // Put together here: of a line for each request, pino's generality is the larger part of the cost.
  const access: AccessLog = ({ method, route, path, status, ms, requestId, keyId, ...entry }) => {
    const { workspaceId, model, called, trace } = entry;
    const client = entry.client();
    joining.write(
      `{"level":"info","time":"${now()}","method":"${method}","route":"${route}",` +
        `${called === undefined ? '' : `"called":"${called}",`}${UNFOUND.has(status) ? `"path":"${path()}",` : ''}"status":${status},"ms":${ms},` +
        `"request_id":"${requestId}"${keyId === undefined ? '' : `,"key_id":"${keyId}"`}` +
        `${workspaceId === undefined ? '' : `,"workspace":"${workspaceId}"`}${client === undefined ? '' : `,"client":"${client}"`}` +
        `${model === undefined ? '' : `,"model":${showModel(model)}`}` +
        `${trace === undefined ? '' : `,"trace_id":"${trace.traceId}","span_id":"${trace.spanId}"`},"msg":"request"}\n`,
    );
  };
  return new ProcessLog(log, {
    access,
    close: async () => {
      clearInterval(flushing);
      handOn();
      // flushSync would omit the block that is being written.
      const closed = new Promise<void>((resolve) => destination.once('close', resolve));
      destination.end();
      await endsWithin(closed, CLOSE_TIMEOUT_MS);
    },
  });
}

const MODEL_CHARACTERS_MAX = 100;

/** A model's name in quotes: bounded, and without text that has the form of a key, because callers write there what they like. */
const showModel = (model: string): string =>
  JSON.stringify(
    model
      .slice(0, MODEL_CHARACTERS_MAX)
      .toWellFormed()
      .replaceAll(/atr_\w+/g, 'atr_…'),
  );

/** The statuses of answers whose route does not identify the path. */
const UNFOUND: ReadonlySet<number> = new Set([404, 405]);

function createPino(level: LogLevel, stream: pino.DestinationStream): pino.Logger {
  const settings: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    mixin: traceFields,
  };
  return pino(settings, stream);
}

/** Names the trace of the request or the job that logs. */
function traceFields(): object {
  const trace = currentTrace();
  return trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
}

function withReason(fields: object): object {
  const { err, ...others } = fields as { err?: unknown };
  return err === undefined || isOurMistake(err) ? fields : { ...others, reason: explain(err) };
}

/** Errors that only a mistake in our code causes; those of `fetch` have a code. */
const isOurMistake = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) &&
  !('code' in error);

/** The time as ISO 8601; its whole seconds are written once. */
function createIsoClock(): () => string {
  let second = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    const nowSecond = Math.floor(nowMs / 1000);
    if (nowSecond !== second) {
      second = nowSecond;
      text = new Date(nowSecond * 1000).toISOString().slice(0, 20);
    }
    return `${text}${String(nowMs % 1000).padStart(3, '0')}Z`;
  };
}
