// What models have used since the start of the process, for /metrics.

import { counter } from '../../http/metrics.ts';
import { UNLISTED } from '../targets.ts';
import type { Ledger } from './ledger.ts';

/**
 * `add` is the ledger's, and counts for the metrics, too. `isListed`: whether the catalogue has the model. Names that callers made up
 * count as one: there may be any number of them, and /metrics needs no key.
 */
export function countUse(ledger: Ledger, isListed: (model: string) => boolean) {
  const byModel = new Map<string, { input: number; output: number; cost: number }>();
  const add: Ledger['add'] = (account, measures) => {
    ledger.add(account, measures);
    const model = isListed(account.model) ? account.model : UNLISTED;
    const used = byModel.get(model) ?? { input: 0, output: 0, cost: 0 };
    byModel.set(model, used);
    used.input += measures.usage.promptTokens;
    used.output += measures.usage.completionTokens;
    used.cost += measures.cost;
  };
  const tokens = counter('atrium_model_tokens_total', 'Tokens of calls, as they are accounted for.', () =>
    [...byModel].flatMap(([model, used]) =>
      (['input', 'output'] as const).map((type) => ({ labels: { model, type }, value: used[type] })),
    ),
  );
  const cost = counter('atrium_model_cost_total', 'Their cost, by the prices of the models file.', () =>
    [...byModel].map(([model, used]) => ({ labels: { model }, value: used.cost })),
  );
  return { add, metrics: [tokens, cost] };
}
