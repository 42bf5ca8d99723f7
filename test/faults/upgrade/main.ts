// `bun run rolling-upgrade`: from a commit of the history to this version behind a balancer, under load, and back with one of two.
//
//   --from COMMIT     what both instances run at first (HEAD~1)
//   --seconds S       load between two steps (10)
//   --seed N          of the clients' choices (1)

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endTestDatabases } from '../../support/database.ts';
import { type Outcome, rollOver } from './rolling.ts';
import { buildVersion, THIS_VERSION } from './versions.ts';

const PAUSE_MS = { from: 50, to: 250 };

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      from: { type: 'string', default: 'HEAD~1' },
      seconds: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'atrium-version-'));
  try {
    const from = await buildVersion(values.from, folder);
    const outcome = await rollOver({
      seed: Number(values.seed),
      from,
      steps: [
        { instance: 'one', version: THIS_VERSION },
        { instance: 'two', version: THIS_VERSION },
        // Back, onto the database of the newer version; and forward again.
        { instance: 'two', version: from },
        { instance: 'two', version: THIS_VERSION },
      ],
      restMs: Number(values.seconds) * 1000,
      pauseMs: PAUSE_MS,
      settings: { CONTENT: 'on' },
    });
    print(outcome);
    return (
      outcome.violations.size === 0 && outcome.phases.every(({ failed }) => Object.keys(failed).length === 0)
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await endTestDatabases();
  }
}

function print({ phases, acknowledged, violations }: Outcome): void {
  const seconds = (ms: number): string => (ms === 0 ? '' : (ms / 1000).toFixed(1));
  const rows = phases.map(({ name, running, endedMs, readyMs, acknowledged: count, failed }) => {
    const failures = Object.entries(failed)
      .map(([status, times]) => `${times} × ${status}`)
      .join(', ');
    return `| ${name} | ${seconds(endedMs)} | ${seconds(readyMs)} | ${running} | ${count} | ${failures || 0} |`;
  });
  console.log(
    [
      '| step | s until it had ended | s until the next was in use | running at SIGTERM | answers | failed |',
      '|---|---|---|---|---|---|',
      ...rows,
      '',
      [...acknowledged].map(([kind, count]) => `${kind} ${count}`).join(', '),
      ...[...violations].flatMap(([invariant, details]) => [
        `VIOLATED: ${invariant}`,
        ...details.map((each) => `  ${each}`),
      ]),
    ].join('\n'),
  );
}

process.exit((await main()) ? 0 : 1);
