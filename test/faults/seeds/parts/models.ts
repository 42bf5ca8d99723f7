// The models of a site: an upstream that fails on demand, with a key of its own in the one that all sites share.

import { writeFileSync } from 'node:fs';
import type { MockUpstream } from '../../../support/mock-upstream.ts';

export type ModelUpstream = Pick<MockUpstream, 'url' | 'strike'>;

/** Each token of a question costs one; those of answers nothing, so that a budget is spent by questions alone. */
const PRICE = { input_per_million: 1_000_000, output_per_million: 0 };
/** Far below the time that a client waits. */
const TIMEOUTS_MS = { connect: 1000, first_byte: 1500, idle: 1500, total: 4000 };

/** What an upstream does to a request, as `mock-upstream/scenario.ts` names it. */
export const MODEL_FAULTS = [
  'status-500',
  'status-429',
  'hang',
  'hang-mid',
  'die',
  'die-mid',
  'cut',
  'error-mid',
  'invalid-json',
  'html',
  'empty',
  'not-an-object',
  'slow+ms=400',
  'trickle+ms=40',
];

export type ModelTimeouts = Record<keyof typeof TIMEOUTS_MS, number>;

type ModelsFile = {
  url: string;
  key: string;
  timeoutsMs?: ModelTimeouts;
  /** Further models, by what the upstream is asked for. */
  more?: Record<string, string>;
};

/** Writes the models file: `whole` and `streamed` are two targets, so that each has a circuit of its own. */
export function writeModelsFile(
  path: string,
  { url, key, timeoutsMs = TIMEOUTS_MS, more = {} }: ModelsFile,
): void {
  const target = (name: string) => ({
    targets: [{ upstream: 'struck', model: `ok+key=${key}+words=${name === 'whole' ? 8 : 20}` }],
    price: PRICE,
  });
  const file = {
    upstreams: { struck: { base_url: `${url}/v1`, retries: 1, timeout_ms: timeoutsMs } },
    models: {
      whole: target('whole'),
      streamed: target('streamed'),
      ...Object.fromEntries(
        Object.entries(more).map(([name, model]) => [name, { targets: [{ upstream: 'struck', model }] }]),
      ),
    },
    defaults: { chat: 'whole' },
  };
  writeFileSync(path, JSON.stringify(file));
}
