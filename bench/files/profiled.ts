// The service from its sources, whose runtime counts how often each part of each file runs (JavaScriptCore's profiler of the control
// flow), and tells it to a debugger.

import { join } from 'node:path';
import { freePort } from '../../test/support/child.ts';
import { MAIN, startService } from '../../test/support/service.ts';

/** By file (from `src/`) and by the place of a block in it: how often it has run. */
export type Executions = ReadonlyMap<string, ReadonlyMap<string, number>>;

export type Profiled = AsyncDisposable & { url: string; executions(): Promise<Executions> };

type Block = { startOffset: number; endOffset: number; executionCount: number };
type Message = { id?: number; method?: string; params?: Script; result?: { basicBlocks: Block[] } };
type Script = { scriptId: string; url: string };

const SOURCES = join(import.meta.dir, '../../src/');

export async function startProfiled(environment: Record<string, string>): Promise<Profiled> {
  const debuggerUrl = `ws://127.0.0.1:${freePort()}/files`;
  const service = await startService({
    command: [process.execPath, `--inspect=${debuggerUrl}`, MAIN],
    environment: { BUN_JSC_useControlFlowProfiler: '1', ...environment },
    postgres: 'embedded',
  });
  const scripts: Script[] = [];
  const asked = new Map<number, (message: Message) => void>();
  const socket = new WebSocket(debuggerUrl);
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(`${data}`) as Message;
    if (message.id !== undefined) asked.get(message.id)?.(message);
    else if (message.method === 'Debugger.scriptParsed' && message.params?.url.startsWith(SOURCES))
      scripts.push(message.params);
  };
  const ask = (method: string, params = {}): Promise<Message> =>
    new Promise((resolve) => {
      const id = asked.size;
      asked.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  await ask('Debugger.enable');
  await ask('Runtime.enableControlFlowProfiler');
  return {
    url: service.url,
    async executions() {
      const executions = new Map<string, Map<string, number>>();
      for (const { scriptId, url } of scripts) {
        const { result } = await ask('Runtime.getBasicBlocks', { sourceID: scriptId });
        const blocks = new Map<string, number>();
        for (const { startOffset, endOffset, executionCount } of result?.basicBlocks ?? []) {
          const place = `${startOffset} ${endOffset}`;
          // A function of one block is there twice, once without its count.
          blocks.set(place, Math.max(executionCount, blocks.get(place) ?? 0));
        }
        executions.set(url.slice(SOURCES.length), blocks);
      }
      return executions;
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      await service[Symbol.asyncDispose]();
    },
  };
}
