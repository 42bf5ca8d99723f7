// Each shape by itself, beside the floor.

import { milliseconds, multiple, printTable, verdict, whole } from '../lib/report.ts';
import { LARGE, type Workspace } from './corpus.ts';
import {
  IN_FLIGHT,
  type InFlight,
  type Loads,
  measure,
  measureFloor,
  probe,
  requestsOf,
  type Session,
  type Who,
  warmUp,
} from './session.ts';
import { LARGE_SHAPES, type Shape, SMALL_SHAPES } from './shapes.ts';

type Measured = { shape: Shape; who: Who; found: number; loads: Loads; floor: Loads };

const HEAD = [
  'shape',
  'as',
  'found',
  'p50 · p95 ms at 1',
  '× floor',
  'p50 · p95 ms at 8',
  '× floor',
  'by Meilisearch',
  'target',
];

/** The large workspace as both people, then the small ones as the reader. */
export async function measureShapes(
  session: Session,
  options: { mirrored: boolean; title: string },
): Promise<void> {
  const rows: Measured[] = [];
  for (const who of ['reader', 'admin'] as const)
    rows.push(...(await measureAll(session, LARGE_SHAPES, who, [session.large])));
  printShapes(
    `${options.title}: workspace \`${LARGE}\`, ${whole(session.large.documents)} documents`,
    rows,
    options.mirrored,
  );
  if (session.small.length === 0) return;
  const small = await measureAll(session, SMALL_SHAPES, 'reader', session.small);
  const each = whole(session.small[0]?.documents ?? 0);
  printShapes(
    `${options.title}: ${session.small.length} small workspaces of ${each} documents`,
    small,
    options.mirrored,
  );
}

/** Every few shapes the floor is measured again, so that what else the machine does falls on both. */
const SHAPES_PER_FLOOR = 4;

async function measureAll(
  session: Session,
  shapes: readonly Shape[],
  who: Who,
  workspaces: readonly Workspace[],
): Promise<Measured[]> {
  const wanted = shapes.filter(({ name }) => session.only.test(name));
  await warmUp(
    session,
    wanted.map((shape) => requestsOf(session, shape, { who, workspaces })),
  );
  const measured: Measured[] = [];
  let floor: Loads | undefined;
  for (const shape of wanted) {
    if (floor === undefined || measured.length % SHAPES_PER_FLOOR === 0) floor = await measureFloor(session);
    const requests = requestsOf(session, shape, { who, workspaces });
    const found = await probe(requests);
    const loads = await measure(session, requests, shape);
    measured.push({ shape, who, found, loads, floor });
    console.error(`  ${who}: ${shape.name}: p95 ${milliseconds(loads[1].p95Ms)} ms at 1`);
  }
  return measured;
}

function printShapes(title: string, rows: readonly Measured[], mirrored: boolean): void {
  const floors = IN_FLIGHT.map((inFlight) => {
    const p95s = rows.map(({ floor }) => floor[inFlight].p95Ms);
    return `${milliseconds(Math.min(...p95s))} to ${milliseconds(Math.max(...p95s))} ms at ${inFlight}`;
  });
  printTable(
    `${title}. Floor, p95: ${floors.join(', ')}.`,
    HEAD,
    rows.map((row) => toCells(row, mirrored)),
  );
}

function toCells({ shape, who, found, loads, floor }: Measured, mirrored: boolean): string[] {
  const ratio = (inFlight: InFlight): number => loads[inFlight].p95Ms / floor[inFlight].p95Ms;
  const times = (inFlight: InFlight): string => {
    const { p50Ms, p95Ms, failed } = loads[inFlight];
    return `${milliseconds(p50Ms)} · ${milliseconds(p95Ms)}${failed === 0 ? '' : `, ${failed} refused`}`;
  };
  return [
    shape.name,
    who,
    whole(found),
    times(1),
    multiple(ratio(1)),
    times(8),
    multiple(ratio(8)),
    shareOfMirror(Object.values(loads)),
    verdict([ratio(1), ratio(8)], mirrored ? shape.mirroredTarget : shape.target),
  ];
}

/** Of the answers, how many the mirror gave. */
export function shareOfMirror(loads: readonly Loads[InFlight][]): string {
  const sum = (engine: string): number =>
    loads.reduce((total, { counters }) => total + (counters[engine] ?? 0), 0);
  const [mirror, postgres] = [sum('meilisearch'), sum('postgres')];
  return `${Math.round((100 * mirror) / Math.max(1, mirror + postgres))} %`;
}
