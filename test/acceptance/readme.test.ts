// The README's lines do what it says when they are pasted, in its order.

import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { startChild } from '../support/child.ts';
import { createFolders, startUnconfigured } from './support/starts.ts';

setDefaultTimeout(120_000);

const ROOT = join(import.meta.dir, '../..');
const freshFolder = createFolders();

test('the lines of the README work when they are pasted', async () => {
  const dataDir = freshFolder();
  await using service = await startUnconfigured(dataDir);
  const environment = {
    URL: service.url,
    KEY: (await Bun.file(join(dataDir, 'first-key')).text()).trim(),
    DATA_DIR: dataDir,
  };
  const readme = await Bun.file(join(ROOT, 'README.md')).text();
  const blocks = [...readme.matchAll(/^```sh\n(.*?)^```/gms)]
    .map(([, lines = '']) => lines)
    .filter((lines) => /\$URL|bun run admin/.test(lines));
  expect(blocks.length).toBeGreaterThan(5);
  const outputs: string[] = [];
  for (const block of blocks) {
    const shell = startChild(['bash', '-e', '-c', block.replaceAll('curl ', 'curl -sS ')], {
      environment,
      directory: ROOT,
    });
    expect([await shell.exited, block, shell.output()]).toEqual([0, block, shell.output()]);
    expect(shell.output()).not.toMatch(/"detail"|"error":/);
    outputs.push(shell.output());
  }
  const told = outputs.join('\n');
  expect(told).toContain('Echo: Good morning');
  expect(told).toContain('"result":"267914296"');
  expect(told).toContain('"accepted":1');
  expect(told).toMatch(/"type":"report\.made","event_id":"1",.*"data":\{"value":3\}/);
  expect(told).toContain('"total":{"events":1,"value":3}');
});
