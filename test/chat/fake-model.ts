// A fake model: it fails, hangs and dawdles as the question says, which no real one does when it is told to.

import { ServiceError } from '../../src/core/errors.ts';
import type { ChatCall, StreamChat } from '../../src/gateway/chat-call.ts';

export type FakeModel = {
  streamChat: StreamChat;
  /** Every call, in order. */
  calls: ChatCall[];
  /** How many are under way. */
  running(): number;
  /** Lets questions that hold come to their end, from now on. */
  release(): void;
};

/**
 * Answers `Answer <n> to: <question>`, n counting its calls. In a question `[wait 50]` takes as many milliseconds,
 * `[hold]` waits for `release()`, `[deaf]` too, with no heed to the signal, `[fail upstream-timeout]` throws this kind
 * after a first delta, `[once]` makes it throw the first time only, `[crash]` throws no refusal at all, and `[cut]`
 * ends without an end.
 */
export function createFakeModel({ delayMs = 0 } = {}): FakeModel {
  const calls: ChatCall[] = [];
  const failed = new Set<string>();
  const released = Promise.withResolvers<void>();
  let running = 0;

  async function* answer(call: ChatCall): ReturnType<StreamChat> {
    const number = calls.push(call);
    const question = call.messages.at(-1)?.content ?? '';
    const waitMs = Number(/\[wait (\d+)\]/.exec(question)?.[1] ?? delayMs);
    const failure = /\[fail ([a-z-]+)\]/.exec(question)?.[1];
    running += 1;
    try {
      yield { type: 'delta', text: 'Answer ' };
      if (waitMs > 0) await abortable(Bun.sleep(waitMs), call.signal);
      if (question.includes('[hold]')) await abortable(released.promise, call.signal);
      if (question.includes('[deaf]')) await released.promise;
      if (question.includes('[crash]')) throw new TypeError('the fake model crashed');
      if (failure !== undefined && !(question.includes('[once]') && failed.has(question))) {
        failed.add(question);
        throw new ServiceError(failure as 'upstream-failed', `fake ${failure}`, { retryAfterSeconds: 7 });
      }
      yield { type: 'delta', text: `${number} to: ${question}` };
      if (question.includes('[cut]')) return;
      const usage = { promptTokens: call.messages.length, completionTokens: 2, totalTokens: 0 };
      yield { type: 'end', model: 'fake', finishReason: 'stop', usage };
    } finally {
      running -= 1;
    }
  }
  return { streamChat: answer, calls, running: () => running, release: () => released.resolve() };
}

async function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  await Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
}
