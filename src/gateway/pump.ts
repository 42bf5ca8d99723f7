// Forwards one stream from the upstream to the client: bytes pass unchanged, and its end is reported truthfully.

import type { Deadlines } from '../core/deadlines.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import { parseJson } from '../core/json.ts';
import { OpenAiRefusal, toOpenAiError } from '../http/openai-error.ts';
import { findError, type StreamAnswer } from './answer.ts';
import { countEvents, endsWithDone, hasDone, hasFinishReason } from './block-marks.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { parseEvents, splitEvents } from './events.ts';
import { KEEP_ALIVE_MS } from './limits.ts';
import { fromUsage, type Usage } from './usage.ts';

export type StreamOutcome = 'ok' | 'failed' | 'cancelled';

export type StreamEnd = {
  outcome: StreamOutcome;
  /** Reported by the upstream, else estimated from the forwarded events. */
  usage: Usage;
  /** Milliseconds from the request to the first event. */
  firstEventMs: number | undefined;
};

export type PumpOptions = {
  answer: StreamAnswer;
  /** Of the upstream; undefined for a built-in model. */
  spec: UpstreamSpec | undefined;
  deadlines: Deadlines;
  /** The gateway requested the usage, not the client, which therefore does not receive it. */
  hidesUsage: boolean;
  /** Streams of this kind end without a mark. */
  endsPlainly: boolean;
  /** Where the upstream does not tell. */
  estimatePrompt(): number;
  startedAtMs: number;
  signal: AbortSignal;
  onInterrupt: OnInterrupt;
  /** Called once, before the last byte is sent. */
  onEnd(end: StreamEnd): void;
  /** Called with the statistics of the forwarded events, including the usage. */
  onBlock?: ((block: Uint8Array) => void) | undefined;
};

const PING = Buffer.from(': keep-alive\n\n');
const NOTHING = new Uint8Array();
const DONE = Buffer.from('data: [DONE]\n\n');
const USAGE_NAME = Buffer.from('"prompt_tokens"');
/** After its `[DONE]` an upstream has this long to end. */
const CLOSING_MS = 500;
/** Blocks at the end of a stream among which a finish reason is looked for. */
const LAST_BLOCKS = 4;

const has = (block: Uint8Array, needle: Uint8Array): boolean =>
  Buffer.prototype.indexOf.call(block, needle) !== -1;

/**
 * The client's stream. While the upstream is silent, comments keep the connection alive. If the upstream fails in the
 * middle, or the service ends, an error event without `[DONE]` follows. A client that disconnects cancels the upstream.
 */
export function pumpStream(options: PumpOptions): ReadableStream<Uint8Array> {
  const { answer, spec, deadlines, hidesUsage, signal } = options;
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let usage: Usage | undefined;
  let events = 0;
  let firstEventMs: number | undefined;
  let ended = false;
  const last: Uint8Array[] = [];
  let forget = (): void => undefined;

  const silence = deadlines.create(() => {
    controller.enqueue(PING);
    silence.set(KEEP_ALIVE_MS);
  });
  /** A client that still reads is not kept waiting. */
  const onAbort = (): void => {
    leave();
    controller.close();
  };

  const end = (outcome: StreamOutcome, failure?: OpenAiRefusal): void => {
    if (ended) return;
    ended = true;
    silence.drop();
    forget();
    signal.removeEventListener('abort', onAbort);
    answer.settle(outcome === 'cancelled' ? 'left' : outcome, failure);
    const told = usage ?? {
      promptTokens: options.estimatePrompt(),
      completionTokens: events,
      estimated: true,
    };
    options.onEnd({ outcome, usage: told, firstEventMs });
  };
  const leave = (): void => {
    answer.blocks.cancel();
    end('cancelled');
  };

  /** Records the forwarded events; returns the client's part of them, and the outcome if it is the last. */
  const inspect = (block: Uint8Array): { shown: Uint8Array; outcome: StreamOutcome | undefined } => {
    firstEventMs ??= performance.now() - options.startedAtMs;
    events += countEvents(block);
    last.push(block);
    if (last.length > LAST_BLOCKS) last.shift();
    let shown = block;
    if (has(block, USAGE_NAME)) {
      const read = readUsageBlock(block, hidesUsage);
      usage = read.usage ?? usage;
      shown = read.shown;
    }
    const found = findError(shown, spec);
    if (found !== undefined) return { shown: toErrorEvent(found.error, found.before), outcome: 'failed' };
    return { shown, outcome: endsWithDone(block) ? 'ok' : undefined };
  };

  /** The account is written before the last byte is sent. */
  const sendLast = (block: Uint8Array, outcome: StreamOutcome, failure?: OpenAiRefusal): void => {
    end(outcome, failure);
    if (block.length > 0) controller.enqueue(block);
    controller.close();
  };
  /** An upstream whose last event has come is read to its end, so that its connection can serve again. */
  const drain = async (): Promise<void> => {
    const closing = deadlines.create(() => answer.blocks.cancel());
    closing.set(CLOSING_MS);
    try {
      while ((await answer.blocks.next()) !== undefined);
    } catch {
      // No client waits for it any more.
    }
    closing.drop();
  };
  const send = (block: Uint8Array): void => {
    const { shown, outcome } = inspect(block);
    if (outcome === undefined) {
      silence.set(KEEP_ALIVE_MS);
      if (shown.length > 0) controller.enqueue(shown);
    } else {
      sendLast(shown, outcome, outcome === 'failed' ? toldError() : undefined);
      if (outcome === 'failed') answer.blocks.cancel();
      else void drain();
    }
    if (outcome !== 'failed') options.onBlock?.(block);
  };
  /** The upstream has ended without saying so. */
  const finish = (cause: unknown): void => {
    const isOver = (cause === undefined && options.endsPlainly) || last.some(hasDone);
    if (isOver) sendLast(NOTHING, 'ok');
    else if (cause === undefined && last.some(hasFinishReason)) {
      options.onBlock?.(DONE);
      sendLast(DONE, 'ok');
    } else {
      const failure = answer.expired() ?? brokeOff(cause);
      sendLast(toErrorEvent(toOpenAiError(failure).error), 'failed', failure);
    }
  };

  return new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
      forget = options.onInterrupt((reason) => {
        answer.blocks.cancel();
        sendLast(toErrorEvent(toOpenAiError(reason).error), 'cancelled');
      });
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      answer.onExpired?.(() => {
        if (!ended) finish(answer.expired());
      });
      if (answer.first === undefined) {
        silence.set(KEEP_ALIVE_MS);
        controller.enqueue(PING);
      } else send(answer.first);
    },
    async pull() {
      while (!ended) {
        answer.touch();
        let block: Uint8Array | undefined;
        try {
          block = await answer.blocks.next();
        } catch (error) {
          return ended ? undefined : finish(error);
        }
        // It may have been cancelled meanwhile.
        if (ended) return;
        if (block === undefined) return finish(undefined);
        answer.rest();
        const room = controller.desiredSize;
        send(block);
        if (controller.desiredSize !== room) return;
      }
    },
    cancel: leave,
  });
}

const brokeOff = (cause: unknown) =>
  new OpenAiRefusal('upstream-failed', 'The upstream broke off its answer', {
    ...{ code: 'upstream_broke_off', cause },
  });

const toldError = () => new OpenAiRefusal('upstream-failed', 'The upstream told an error within its answer');

const toErrorEvent = (error: object, before = ''): Uint8Array =>
  Buffer.from(`${before}data: ${JSON.stringify({ error })}\n\n`);

/** The usage in a block, and the block without it if the client did not request it. */
function readUsageBlock(block: Uint8Array, hides: boolean): { usage: Usage | undefined; shown: Uint8Array } {
  let usage: Usage | undefined;
  let shown = '';
  const text = Buffer.from(block).toString();
  for (const raw of splitEvents(text)) {
    const found = usageOfEvent(raw);
    usage = found?.usage ?? usage;
    if (!(hides && found?.alone === true)) shown += raw;
  }
  return { usage, shown: hides && shown.length !== text.length ? Buffer.from(shown) : block };
}

/** `alone`: the event holds nothing else (`choices: []`). */
function usageOfEvent(raw: string): { usage: Usage | undefined; alone: boolean } | undefined {
  const data = parseEvents(raw)[0]?.data;
  if (data === undefined || !data.includes('"prompt_tokens"')) return undefined;
  try {
    const { usage, choices } = parseJson(data) as { usage?: unknown; choices?: unknown };
    return { usage: fromUsage(usage), alone: Array.isArray(choices) && choices.length === 0 };
  } catch {
    return undefined;
  }
}
