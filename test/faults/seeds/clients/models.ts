// A program that asks models, with a key of its own: what was answered is accounted for, once and at its price, what failed
// costs nothing, and a budget holds.

import { type Answer, bodyOf } from '../../../acceptance/support/caller.ts';
import { eventually } from '../../../support/child.ts';
import type { Client, Desk } from '../client.ts';

const BUDGET_ANSWERS = 40;
/** The upstream's own refusals; the text distinguishes them from those of the service. */
const OF_UPSTREAM = 'mock says';

type Usage = { prompt_tokens: number };
/**
 * What became of a request. `failed`: refused for the upstream, and charged nothing. `broken`: a stream that began and ended with
 * an error event; the part that came is charged by an estimate. `open`: lost, or refused without a trace.
 */
type Fate = 'answered' | 'failed' | 'broken' | 'limited' | 'waits' | 'open';

export async function createModelsClient(desk: Desk, limited = desk.random.chance(0.5)): Promise<Client> {
  const { random, call, workspace, adminKey } = desk;
  const counts: Record<Fate, number> = { answered: 0, failed: 0, broken: 0, limited: 0, waits: 0, open: 0 };
  const json = { messages: [{ role: 'user', content: 'one two three' }] };
  const create = (body: object) =>
    call('POST', `/admin/api/workspaces/${workspace}/keys`, {
      key: adminKey,
      json: { name: 'models', scopes: ['models'], ...body },
    });
  const ask = (key: string, streams: boolean) =>
    call('POST', '/v1/chat/completions', {
      headers: { authorization: `Bearer ${key}` },
      json: { ...json, ...(streams ? { model: 'streamed', stream: true } : { model: 'whole' }) },
    });
  const trial = bodyOf<{ key: string }>(await create({}), 201);
  // Before anything is struck, a starved machine may keep the upstream from beginning in time.
  const answer = await eventually('an answer of the upstream', async () => {
    const first = await ask(trial.key, false);
    return first.status !== 504 && first;
  });
  const tokensEach = bodyOf<{ usage: Usage }>(answer, 200).usage.prompt_tokens;
  const limits = limited ? { limits: { budget_per_month: tokensEach * BUDGET_ANSWERS } } : {};
  const { id, key } = bodyOf<{ id: string; key: string }>(await create(limits), 201);
  /** An estimate has four bytes a token. */
  const estimateMax = Math.max(tokensEach, JSON.stringify(json).length);

  const fateOf = (answer: Answer | undefined, streams: boolean): Fate => {
    if (answer === undefined) return 'open';
    const { status, headers, text } = answer;
    if (text.includes(OF_UPSTREAM) || status === 502 || status === 504) return 'failed';
    // One that says when to come again is refused for what others have reserved, and may fit then.
    if (status === 429) return headers.get('retry-after') === null ? 'limited' : 'waits';
    if (status === 500) desk.violate('no answer is a 500', text);
    if (!streams || text.includes('data: [DONE]')) return 'answered';
    const last = text.trimEnd().split('\n\n').at(-1) ?? '';
    if (!/^data: \{"error":/.test(last))
      desk.violate('a stream ends with [DONE] or an error event', text.slice(-300));
    return 'broken';
  };
  const statuses = [200, 429, 500, 502, 504];

  return {
    async work() {
      while (!desk.isOver()) {
        const streams = random.chance(0.3);
        counts[fateOf(await desk.attempt(statuses, () => ask(key, streams)), streams)] += 1;
        await desk.pause();
      }
    },
    settle: async () => undefined,
    keep() {
      const kept = { ...counts };
      return () => Object.assign(counts, kept);
    },
    async check({ usage }) {
      const { requests, cost } = usage.get(id) ?? { requests: 0, cost: 0 };
      const { answered, failed, broken, open } = counts;
      const problems = [];
      const least = desk.bufferFails ? 0 : answered + failed + broken;
      if (requests < least || requests > answered + failed + broken + open)
        problems.push(
          `each request of a model is accounted for, once: ${requests} of ${JSON.stringify(counts)}`,
        );
      const costs = {
        least: desk.bufferFails ? 0 : answered * tokensEach,
        most: answered * tokensEach + (broken + open) * estimateMax,
      };
      if (cost < costs.least || cost > costs.most)
        problems.push(
          `the cost is that of what was answered: ${cost}, not ${JSON.stringify({ ...costs, ...counts })}`,
        );
      // One more than fits may be under way when it is exhausted; others where processes could not hear of one another.
      if (limited && counts.limited > 0 && costs.most < BUDGET_ANSWERS * tokensEach)
        problems.push(`a budget is refused only once it is spent: ${JSON.stringify(counts)}`);
      return problems;
    },
  };
}
