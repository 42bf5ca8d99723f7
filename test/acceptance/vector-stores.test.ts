// The programs of the guide for vector stores elsewhere: loaders and retrievers of LangChain and LlamaIndex, unmodified.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, startChild } from '../support/child.ts';
import { findPython, missingPython } from '../support/python-sdk.ts';
import { shared } from '../support/shared.ts';
import { startSetting } from './support/setting.ts';

const GUIDE = join(import.meta.dir, '../../docs/guides/vector-stores.md');
const programs = [...readFileSync(GUIDE, 'utf8').matchAll(/^```python\n(.*?)^```/gms)].map(
  ([, lines = '']) => lines,
);
const missing = missingPython('frameworks');

const setting = await shared(startSetting({ CONTENT: 'on' }));

/** What a program has printed, by the name that it gives it. */
async function run(program: string): Promise<Record<string, string>> {
  const environment = { URL: setting.url, KEY: setting.adminKey };
  const child = startChild(
    [findPython('frameworks') ?? '', '-c', program.replaceAll('/v1/default/', `/v1/${setting.workspace}/`)],
    { environment },
  );
  expect([await child.exited, child.output()]).toEqual([0, child.output()]);
  return Object.fromEntries(
    child
      .output()
      .split('\n')
      .map((line) => line.split(/: (.*)/s, 2) as [string, string]),
  );
}

const TEXTS = {
  'pumps.md': 'The pump is switched off before it is opened.',
  'valves.md': 'A valve that leaks gets another seal.',
};

/** Goes on behind the program of LangChain: one text is replaced, one document goes to the bin, and the copy follows. */
const followChanges = ([changed, binned]: readonly string[]): string => `
import time
atrium.put("/v1/default/file/${changed}/content", json={"text": "Now it is switched on."}).raise_for_status()
while atrium.get("/v1/default/file/${changed}/content").json()["status"] != "ready":
    time.sleep(0.05)
atrium.delete("/v1/default/${binned}").raise_for_status()
catch_up(store, state)
print("followed:", json.dumps([entry["text"] for entry in store.store.values()]))
`;

describe.skipIf(missing !== undefined)(`vector stores elsewhere${missing ? ` (${missing})` : ''}`, () => {
  for (const name of ['LangChain', 'LlamaIndex'])
    test(`the loader, the copy and the retriever of the guide work with ${name}`, async () => {
      const { admin } = setting;
      const ids: string[] = [];
      for (const [file, text] of Object.entries(TEXTS)) {
        const { id } = await admin.stored({ name: file }, text);
        ids.push(id);
        await eventually('the document to be embedded', async () => {
          const { text: lines } = await admin.exportPassages({ include: 'embeddings' });
          return lines.split('\n').some((line) => line.includes(id) && line.includes('"embedding":['));
        });
      }
      const program = programs.find((lines) =>
        lines.includes(name === 'LangChain' ? 'langchain_core' : 'llama_index'),
      );
      const further = name === 'LangChain' ? followChanges(ids) : '';
      const printed = await run(`${program}${further}`);
      expect(printed).toMatchObject({
        loaded: '2',
        stored: expect.stringContaining(TEXTS['pumps.md']),
        retrieved: expect.stringContaining(TEXTS['pumps.md']),
      });
      if (name === 'LangChain') expect(printed['followed']).toBe('["Now it is switched on."]');
      for (const id of ids) expect([204, 404]).toContain((await admin.bin(id)).status);
    });
});
