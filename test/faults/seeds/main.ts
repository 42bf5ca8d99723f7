// `bun run faults`: the service under faults, by seeds.
//
//   --seed N              one seed, with its plan
//   --seed N --minutes M  that one and those after it, until the time is over
//   --seeds A..B          all of these
//   --jobs J              so many at a time (3)
//   table …               the table of docs/operating/reliability.md (test/faults/table/main.ts)

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startMockUpstream } from '../../support/mock-upstream.ts';
import { findAvailable } from './parts/available.ts';
import { makeTemplate } from './parts/folder.ts';
import { planOf, renderPlan } from './plan.ts';
import { addOutcome, emptyReport, type Report, renderReport } from './report.ts';
import { type Outcome, runSeed } from './run-seed.ts';

export type Seeds = {
  from: number;
  to: number;
  jobs: number;
  isOver?: () => boolean;
  quiet?: boolean;
  /** What holds all files; the system's folder for such, where absent. */
  folder?: string;
};

/**
 * Runs the seeds in a folder of their own. What a violation leaves to read is in `failures`.
 */
export async function runSeeds(seeds: Seeds, failures: string): Promise<Report> {
  const home = process.env['TMPDIR'];
  const folder = mkdtempSync(join(seeds.folder ?? tmpdir(), 'atrium-faults-'));
  process.env['TMPDIR'] = folder;
  const upstream = await startMockUpstream();
  try {
    const available = findAvailable();
    const surroundings = { template: await makeTemplate(folder), upstream, available };
    const report = emptyReport();
    let next = seeds.from;
    const work = async (): Promise<void> => {
      while (next <= seeds.to && seeds.isOver?.() !== true) {
        const seed = next++;
        if (seeds.from === seeds.to && !seeds.quiet) console.log(renderPlan(planOf(seed, available)));
        const outcome = await runSeed(seed, surroundings);
        addOutcome(report, outcome);
        print(outcome, { failures, quiet: seeds.quiet ?? false });
      }
    };
    await Promise.all(Array.from({ length: seeds.jobs }, work));
    return report;
  } finally {
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
    if (home === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = home;
  }
}

function print(
  { plan, violations, output, elapsedMs, phases }: Outcome,
  options: { failures: string; quiet: boolean },
): void {
  const seconds = (elapsedMs / 1000).toFixed(1);
  if (violations.size === 0) {
    const times = Object.entries(phases).map(([phase, ms]) => `${phase} ${(ms / 1000).toFixed(1)}`);
    if (!options.quiet) console.log(`seed ${plan.seed}: ${seconds} s (${times.join(', ')})`);
    return;
  }
  const text = [...violations]
    .map(([invariant, details]) => `  ${invariant}\n    ${details.join('\n    ')}`)
    .join('\n');
  console.log(`${renderPlan(plan)}\nVIOLATED after ${seconds} s:\n${text}`);
  mkdirSync(options.failures, { recursive: true });
  writeFileSync(join(options.failures, `seed-${plan.seed}.log`), `${renderPlan(plan)}\n${text}\n\n${output}`);
}

if (import.meta.main && process.argv[2] === 'table') {
  const { runTable } = await import('../table/main.ts');
  process.exit(await runTable(process.argv.slice(3)));
} else if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      jobs: { type: 'string', default: '3' },
    },
  });
  const [from = 1, to = from] = (values.seeds ?? values.seed ?? '1..100').split('..').map(Number);
  const until =
    values.minutes === undefined ? undefined : performance.now() + Number(values.minutes) * 60_000;
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Seeds under way end in order: they have processes and mounts. The second time they are left.
    process.on(signal, () => {
      if (interrupted) process.exit(1);
      interrupted = true;
    });
  }
  const report = await runSeeds(
    {
      from,
      to: until === undefined ? to : Number.MAX_SAFE_INTEGER,
      jobs: Number(values.jobs),
      // In memory a sync costs nothing. What a disk keeps is shown by those seeds that have one of their own.
      ...(existsSync('/dev/shm') ? { folder: '/dev/shm' } : {}),
      isOver: () => interrupted || performance.now() > (until ?? Number.POSITIVE_INFINITY),
    },
    join(tmpdir(), 'atrium-faults-failures'),
  );
  console.log(renderReport(report));
  process.exit(report.violated.length === 0 ? 0 : 1);
}
