// Filtering beside other work: slow searches, and writes.

import type { Load } from '../lib/k6.ts';
import { milliseconds, multiple, printTable, verdict, whole } from '../lib/report.ts';
import { ask, change, type Pace } from './load-generator.ts';
import { IN_FLIGHT, type InFlight, type Loads, measure, probe, requestsOf, type Session } from './session.ts';
import { shareOfMirror } from './shape-tables.ts';
import { BY_NAME, EVERYTHING, FACET_RANGE, type Shape, SUMMARY_COMMON } from './shapes.ts';
import { insertFor, removeInserted } from './writes.ts';

const QUICK = [FACET_RANGE, EVERYTHING, BY_NAME] as const;
const SLOW_CLIENTS = 2;
const BESIDE_SLOW_TARGET = 1.5;
const BESIDE_WRITES_TARGET = 2;
const WRITES_PER_SECOND_TARGET = 2000;
const WRITES_IN_FLIGHT = 16;
/** At a given pace: so many that slow answers do not slow it down. */
const PACED_IN_FLIGHT_MAX = 64;
/** k6 starts and ends between two measurements. */
const PAUSE_SECONDS = 1.5;

type Quick = { shape: Shape; loads: Loads };

/** Facets, everything and names, as the reader sees them. */
export async function measureQuick(session: Session): Promise<Quick[]> {
  const measured: Quick[] = [];
  for (const shape of QUICK) {
    const requests = requestsOf(session, shape, { who: 'reader', workspaces: [session.large] });
    await probe(requests);
    measured.push({ shape, loads: await measure(session, requests) });
  }
  return measured;
}

/** Long enough for what `measureQuick` does. */
const quickSeconds = ({ seconds }: Session): number =>
  Math.ceil(QUICK.length * IN_FLIGHT.length * (seconds + PAUSE_SECONDS));

export async function measureBesideSlow(session: Session, idle: readonly Quick[]): Promise<void> {
  const slow = requestsOf(session, SUMMARY_COMMON, { who: 'reader', workspaces: [session.large] });
  const background = ask(slow, { inFlight: SLOW_CLIENTS, seconds: quickSeconds(session) });
  const beside = await measureQuick(session);
  const { count, p50Ms, failed } = await background;
  const work = `${SLOW_CLIENTS} clients of \`${SUMMARY_COMMON.name}\` (${count} answers, p50 ${milliseconds(p50Ms)} ms, ${failed} refused)`;
  printBeside(`Beside ${work}`, { idle, beside, target: BESIDE_SLOW_TARGET });
}

/** Filtering while documents are changed over HTTP at a steady pace. */
export async function measureBesideChanges(
  session: Session,
  { idle, perSecond }: { idle: readonly Quick[]; perSecond: number },
): Promise<void> {
  const { beside, changes } = await besideChanges(session, perSecond, () => measureQuick(session));
  printBeside(`Beside ${describeChanges(changes)}`, { idle, beside, target: BESIDE_WRITES_TARGET });
}

/** Does something while documents are changed, and tells how the changes went. */
export async function besideChanges<Result>(
  session: Session,
  perSecond: number,
  work: () => Promise<Result>,
  seconds = quickSeconds(session),
): Promise<{ beside: Result; changes: Load }> {
  const pace: Pace = { inFlight: PACED_IN_FLIGHT_MAX, seconds, perSecond };
  const background = change(session.patches, pace);
  const beside = await work();
  return { beside, changes: await background };
}

export const describeChanges = ({ requestsPerSecond, p95Ms, failed, counters }: Load): string =>
  `${whole(requestsPerSecond)} changes/s over HTTP (p95 ${milliseconds(p95Ms)} ms, ${failed} refused, ` +
  `${counters['dropped_iterations'] ?? 0} not begun in time)`;

/** As many writes as go, first alone, then with filtering beside them. */
export async function measureWrites(session: Session, idle: readonly Quick[]): Promise<void> {
  const { server, large, patches } = session;
  const seconds = session.seconds * 3;
  try {
    const patched = await change(patches, { inFlight: WRITES_IN_FLIGHT, seconds });
    const inserted = await insertFor(server.databaseUrl, large, seconds);
    printWrites(
      `Writes, every index in place, ${WRITES_IN_FLIGHT} in flight, ${seconds} s`,
      inserted,
      patched,
    );
    const background = insertFor(server.databaseUrl, large, quickSeconds(session));
    const beside = await measureQuick(session);
    const title = `Beside ${whole(await background)} inserts/s, as many as went`;
    printBeside(title, { idle, beside, target: undefined });
  } finally {
    await removeInserted(server.databaseUrl);
  }
}

function printWrites(title: string, inserted: number, patched: Load): void {
  const { requestsPerSecond, p50Ms, p95Ms, failed } = patched;
  const row = (name: string, rate: number, times: string): string[] => [
    name,
    whole(rate),
    times,
    `≥ ${whole(WRITES_PER_SECOND_TARGET)}/s: ${rate >= WRITES_PER_SECOND_TARGET ? 'met' : '**missed**'}`,
  ];
  const refused = failed === 0 ? '' : `, ${failed} refused`;
  printTable(
    title,
    ['writes', 'a second', 'p50 · p95 ms', 'target'],
    [
      row('inserts, as a confirm makes them', inserted, ''),
      row(
        'changes over HTTP',
        requestsPerSecond,
        `${milliseconds(p50Ms)} · ${milliseconds(p95Ms)}${refused}`,
      ),
    ],
  );
}

function printBeside(
  title: string,
  { idle, beside, target }: { idle: readonly Quick[]; beside: readonly Quick[]; target: number | undefined },
): void {
  const ratio = (at: number, inFlight: InFlight): number =>
    (beside[at]?.loads[inFlight].p95Ms ?? 0) / (idle[at]?.loads[inFlight].p95Ms ?? 1);
  const times = (at: number, inFlight: InFlight): string =>
    `${milliseconds(idle[at]?.loads[inFlight].p95Ms ?? 0)} → ${milliseconds(beside[at]?.loads[inFlight].p95Ms ?? 0)}`;
  printTable(
    title,
    [
      'shape',
      'p95 ms at 1, idle → beside',
      '×',
      'p95 ms at 8, idle → beside',
      '×',
      'by Meilisearch',
      'target',
    ],
    beside.map(({ shape, loads }, at) => [
      shape.name,
      times(at, 1),
      multiple(ratio(at, 1)),
      times(at, 8),
      multiple(ratio(at, 8)),
      shareOfMirror(Object.values(loads)),
      verdict([ratio(at, 1), ratio(at, 8)], target),
    ]),
  );
}
