// The lines of the README and of the guides do what they say when they are pasted, in order.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { startUnconfigured } from './support/starts.ts';

const ROOT = join(import.meta.dir, '../..');

const GUIDES = [
  'documents',
  'search',
  'knowledge',
  'models',
  'conversations',
  'bots',
  'mcp',
  'usage-events',
  'compute',
  'vector-stores',
  'administration',
];
const PAGES = ['README.md', ...GUIDES.map((name) => `docs/guides/${name}.md`)];

/** What a guide waits for an event, and what a busy machine needs. */
const PAUSE = /^sleep 1 .*$/m;
const SUMS = '"$URL/api/v1/workspace_metric/default/summary?type=report&authorization=$KEY"';
const PATIENCE = `for _ in {1..300}; do if curl ${SUMS} | grep -q '"events":2'; then break; fi; sleep 0.2; done`;

test('the lines of the README and of the guides work when they are pasted', async () => {
  const dataDir = freshFolder();
  await using service = await startUnconfigured(dataDir, 'on');
  const environment = {
    URL: service.url,
    KEY: (await Bun.file(join(dataDir, 'first-key')).text()).trim(),
    DATA_DIR: dataDir,
  };
  const blocks = PAGES.flatMap((page) => [
    ...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```(sh|js)\n(.*?)^```/gms),
  ])
    .map(([, language = '', lines = '']) => ({ language, lines }))
    .filter(({ language, lines }) => language === 'js' || /\$URL|bun run admin/.test(lines));
  expect(blocks.length).toBeGreaterThan(9);
  expect(blocks.filter(({ lines }) => PAUSE.test(lines))).toHaveLength(1);
  const outputs: string[] = [];
  for (const { language, lines } of blocks) {
    const command =
      language === 'js'
        ? [process.execPath, '-e', lines]
        : ['bash', '-e', '-c', lines.replace(PAUSE, PATIENCE).replaceAll('curl ', 'curl -sS ')];
    const shell = startChild(command, { environment, directory: ROOT });
    expect([await shell.exited, lines, shell.output()]).toEqual([0, lines, shell.output()]);
    expect(shell.output()).not.toMatch(/"detail"|"error":/);
    outputs.push(shell.output());
  }
  const told = outputs.join('\n');
  expect(told.match(/Echo: Good morning/g)?.length).toBeGreaterThan(2);
  expect(told).toContain('204 private Hello, Atrium');
  expect(told).toMatch(/pump-manual\.md, Maintenance, page null, characters \d+ to \d+, score 0\.\d+/);
  expect(told).toMatch(/pump-manual\.md 0\.\d+/);
  expect(told).toContain('"result":"267914296"');
  expect(told).toContain('"accepted":1');
  expect(told).toMatch(/"type":"report\.made","event_id":"1",.*"data":\{"value":3\}/);
  expect(told).toContain('"total":{"events":2,"value":5}');
});
