// A program that asks models, with a key of its own: what was answered is accounted for, once, and a budget holds.

import { bodyOf } from '../../../acceptance/support/caller.ts';
import type { Client, Desk } from '../client.ts';

/** Each answer of the upstream has one price. */
export const PRICE = { input_per_million: 1_000_000, output_per_million: 0 };
const BUDGET_ANSWERS = 40;

type Usage = { prompt_tokens: number };

export async function createModelsClient(desk: Desk): Promise<Client> {
  const { random, call, workspace, adminKey } = desk;
  const limited = random.chance(0.5);
  const limits = limited ? { limits: { budget_per_month: 0 } } : {};
  const counts = { answered: 0, open: 0, tokens: 0, limited: 0 };
  let tokensEach = 0;
  const json = { model: 'whole', messages: [{ role: 'user', content: 'one two three' }] };
  const create = (body: object) =>
    call('POST', `/admin/api/workspaces/${workspace}/keys`, {
      key: adminKey,
      json: { name: 'models', scopes: ['models'], ...body },
    });
  const ask = (key: string, streams: boolean) =>
    call('POST', '/v1/chat/completions', {
      headers: { authorization: `Bearer ${key}` },
      json: streams ? { ...json, model: 'streamed', stream: true } : json,
    });
  {
    const { key } = bodyOf<{ key: string }>(await create({}), 201);
    tokensEach = bodyOf<{ usage: Usage }>(await ask(key, false), 200).usage.prompt_tokens;
  }
  if (limited) Object.assign(limits, { limits: { budget_per_month: tokensEach * BUDGET_ANSWERS } });
  const { id, key } = bodyOf<{ id: string; key: string }>(await create(limits), 201);
  const isWhole = (text: string, streams: boolean): boolean => !streams || text.includes('data: [DONE]');

  return {
    async work() {
      while (!desk.isOver()) {
        const streams = random.chance(0.3);
        const answer = await desk.attempt([200, ...(limited ? [429] : [])], () => ask(key, streams));
        if (answer?.status === 200 && isWhole(answer.text, streams)) counts.answered += 1;
        // One that says when to come again is refused for what others have reserved, and may fit then.
        else if (answer?.status === 429 && answer.headers.get('retry-after') === null) counts.limited += 1;
        else if (answer?.status !== 429) counts.open += 1;
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
      const { answered, open } = counts;
      const problems = [];
      const least = desk.losesPower ? 0 : answered;
      if (requests < least || requests > answered + open)
        problems.push(
          `each request of a model is accounted for, once: ${requests} of ${JSON.stringify(counts)}`,
        );
      if (open === 0 && !desk.losesPower && cost !== answered * tokensEach)
        problems.push(`the cost is that of what was answered: ${cost}, not ${answered * tokensEach}`);
      // One more than fits may be under way when it is exhausted; others where processes could not hear of one another.
      if (limited && counts.limited > 0 && answered + open < BUDGET_ANSWERS)
        problems.push(`a budget is refused only once it is spent: ${JSON.stringify(counts)}`);
      return problems;
    },
  };
}
