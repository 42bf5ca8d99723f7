// A model provider for tests and benchmarks: a process of its own that speaks the wire of OpenAI, Azure and Anthropic,
// fails on demand (`mock-upstream/scenario.ts` says how to ask), and tells what it saw.

import { join } from 'node:path';
import { eventually, startChild } from './child.ts';
import type { Account, Totals } from './mock-upstream/ledger.ts';

export type MockUpstream = AsyncDisposable & {
  /** The origin. OpenAI's base URL is this and `/v1`; Azure's and Anthropic's is this. */
  url: string;
  pid: number;
  /** What it saw of one key: of the upstream's model name, or of what that name or the body's `mock` gives as key. */
  state(key: string): Promise<Account>;
  totals(): Promise<Totals>;
  /** Requests of the key meet the fault (`mock-upstream/scenario.ts`) until it is undefined, whatever they ask for. */
  strike(key: string, fault: string | undefined): Promise<void>;
  /** Requests of the key that are `held`, and those that come later, are answered. */
  release(key: string): Promise<void>;
  /** Forgets one key, or everything. */
  reset(key?: string): Promise<void>;
  stop(): Promise<void>;
};

const SERVER = join(import.meta.dir, 'mock-upstream/server.ts');

/** On `port`, or on a free one. */
export async function startMockUpstream(port = 0): Promise<MockUpstream> {
  const child = startChild([process.execPath, SERVER], { environment: { PORT: `${port}` } });
  let exited = false;
  void child.exited.then(() => {
    exited = true;
  });
  const url = await eventually('the upstream to listen', () => {
    if (exited) throw new Error(`the upstream ended: ${child.output()}`);
    return /listens on (\S+)\s/.exec(child.output())?.[1];
  });
  const read = async <Value>(path: string): Promise<Value> => {
    if (exited) throw new Error(`the upstream ended: ${child.output().slice(-2000)}`);
    return (await (await fetch(`${url}${path}`)).json()) as Value;
  };
  const query = (key: string): string => `?key=${encodeURIComponent(key)}`;
  return {
    url,
    pid: child.pid,
    state: (key) => read<Account>(`/mock/state${query(key)}`),
    totals: () => read<Totals>('/mock/state'),
    async strike(key, fault) {
      const asked = fault === undefined ? '' : `&fault=${encodeURIComponent(fault)}`;
      await fetch(`${url}/mock/strike${query(key)}${asked}`, { method: 'POST' });
    },
    async release(key) {
      await fetch(`${url}/mock/release${query(key)}`, { method: 'POST' });
    },
    async reset(key) {
      await fetch(`${url}/mock/reset${key === undefined ? '' : query(key)}`, { method: 'POST' });
    },
    stop: () => child.stop(),
    [Symbol.asyncDispose]: () => child.stop(),
  };
}
