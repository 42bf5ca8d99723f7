import pino from 'pino';
import pretty from 'pino-pretty';

const BLOCK_LENGTH = 8192;
const FLUSH_MS = 100;
/** An output that nobody reads does not keep the process. */
const CLOSE_TIMEOUT_MS = 2000;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What every room may write to. Fields never hold a secret; `err` holds a cause. */
export type Logger = {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};

/** A request that was answered. */
export type AccessEntry = {
  method: string;
  route: string;
  status: number;
  ms: number;
  /** Visible ASCII without quotes. */
  requestId: string;
  keyId: string | undefined;
};

export type AccessLog = (entry: AccessEntry) => void;

/**
 * One JSON line an entry on standard output (or a readable one for a terminal). JSON lines are written in
 * blocks, at the latest after 100 ms and at `close()`: a killed process may lose the last of them.
 */
export function createLogger(options: {
  level: LogLevel;
  format: 'json' | 'pretty';
}): Logger & { access: AccessLog; close(): Promise<void> } {
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (options.format === 'pretty') {
    const stream = pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', colorize: process.stdout.isTTY });
    const log = pino(settings, stream);
    const access: AccessLog = ({ requestId, keyId, ...entry }) =>
      log.info({ ...entry, request_id: requestId, key_id: keyId }, 'request');
    return Object.assign(log, { access, close: async () => undefined });
  }
  const destination = pino.destination({ dest: 1, sync: false });
  // Lines are joined here: the destination measures and copies whatever it is given.
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
  const log = pino(settings, joining);
  const now = createIsoClock();
  // Put together here: of a line for each request, pino's generality is the larger part of the cost.
  const access: AccessLog = ({ method, route, status, ms, requestId, keyId }) =>
    joining.write(
      `{"level":"info","time":"${now()}","method":"${method}","route":"${route}","status":${status},"ms":${ms},` +
        `"request_id":"${requestId}"${keyId === undefined ? '' : `,"key_id":"${keyId}"`},"msg":"request"}\n`,
    );
  return Object.assign(log, {
    access: log.isLevelEnabled('info') ? access : () => undefined,
    close: async () => {
      clearInterval(flushing);
      handOn();
      // flushSync would leave out what is just being written.
      const closed = new Promise<void>((resolve) => destination.once('close', resolve));
      destination.end();
      await Promise.race([closed, Bun.sleep(CLOSE_TIMEOUT_MS)]);
    },
  });
}

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
