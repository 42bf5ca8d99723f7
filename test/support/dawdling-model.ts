import type { StreamChat } from '../../src/gateway/chat-call.ts';

/** A fake model that answers after a time, by chance (`jitter`) after any part of it, and says how long it took. */
export function createDawdlingModel({ delayMs, jitter }: { delayMs: number; jitter: boolean }): StreamChat {
  return async function* answer({ messages }) {
    const startedAt = performance.now();
    const question = messages.at(-1)?.content ?? '';
    if (delayMs > 0) await Bun.sleep(jitter ? Math.random() * delayMs : delayMs);
    yield { type: 'delta', text: `To ${question}: ` };
    yield { type: 'delta', text: `${crypto.randomUUID()}, in ${performance.now() - startedAt} ms` };
    const usage = { promptTokens: messages.length, completionTokens: 2, totalTokens: messages.length + 2 };
    yield { type: 'end', model: 'dawdling', finishReason: 'stop', usage };
  };
}
