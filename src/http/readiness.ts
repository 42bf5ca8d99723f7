// The states of backing services, as one process reads them and as several of them see them together.

import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import type { Part } from '../core/siblings.ts';
import { within } from '../core/wait.ts';
import { gauge, type Metric } from './metrics.ts';

/** The state of a backing service. `detail`: the effect of a state other than ready. */
export type ServiceState = {
  state: 'ready' | 'degraded' | 'down';
  detail?: string;
  [figure: string]: unknown;
};

/**
 * How a figure of several processes becomes one. `sum`: each has its part. `largest`: one of them is enough. `every`: true
 * where it is for each.
 */
type FigureAcross = 'sum' | 'largest' | 'every';

/** Reads the state of a backing service; the time-out and errors of the check are handled here. */
export type ReadinessCheck = {
  name: string;
  essential: boolean;
  check(): Promise<ServiceState>;
  /** Of the figures that the processes do not all read at the same place. */
  across?: Readonly<Record<string, FigureAcross>>;
};

export type Checked = { name: string; essential: boolean; state: ServiceState };

type SeenBy = { process: number | undefined; state: ServiceState };

const CHECK_TIMEOUT_MS = 2500;

/** Never rejects, and resolves within its time-out. */
export async function runCheck({ name, essential, check }: ReadinessCheck): Promise<Checked> {
  const late = (): ServiceState => ({ state: 'down', detail: 'no answer in time' });
  const state = await within(check(), CHECK_TIMEOUT_MS, late).catch(
    (): ServiceState => ({ state: 'down', detail: 'it cannot be reached' }),
  );
  return { name, essential, state };
}

/**
 * The states and figures of all processes as one, the same whichever of them is asked. The processes themselves are one more
 * service. `own`: of the asked one. `parts`: of all, undefined where their owner does not answer.
 */
export function joinChecks(
  checks: readonly ReadinessCheck[],
  { own, parts }: { own: readonly Checked[]; parts: readonly Part[] | undefined },
): Checked[] {
  const answers = (parts ?? []).flatMap(({ process, answer }) =>
    answer === undefined ? [] : [{ process, checked: answer as Checked[] }],
  );
  const joined = own.map((each): Checked => {
    const seen = answers.flatMap(({ process, checked }) => {
      const found = checked.find(({ name }) => name === each.name);
      return found === undefined ? [] : [{ process, state: found.state }];
    });
    const across = checks.find(({ name }) => name === each.name)?.across ?? {};
    const state = { ...joinStates(seen, parts?.length ?? 0), ...joinFigures(seen, across) };
    return seen.length === 0 ? each : { ...each, state };
  });
  return [...joined, { name: 'processes', essential: false, state: stateOfProcesses(parts) }];
}

/** Down or ready where it is for each of them, otherwise degraded. `count`: of the processes, also those that do not answer. */
function joinStates(seen: readonly SeenBy[], count: number): ServiceState {
  const states = new Set(seen.map(({ state: { state } }) => state));
  const [only = 'degraded'] = states;
  const state = states.size === 1 ? only : 'degraded';
  const told = seen.filter(({ state: { state, detail } }) => state !== 'ready' || detail !== undefined);
  const details = Map.groupBy(told, ({ state: { state, detail } }) => detail ?? state);
  const [detail] = details.keys();
  if (detail === undefined) return { state };
  if (details.size === 1 && told.length === seen.length) return { state, detail };
  const sentences = [...details].map(
    ([each, those]) => `in process ${those.map(({ process }) => process).join(', ')} of ${count}: ${each}`,
  );
  return { state, detail: sentences.join('; ') };
}

function joinFigures(
  seen: readonly SeenBy[],
  across: NonNullable<ReadinessCheck['across']>,
): Record<string, unknown> {
  const joined: Record<string, unknown> = {};
  for (const {
    state: { state: _, detail: __, ...figures },
  } of seen)
    for (const [name, value] of Object.entries(figures))
      joined[name] = name in joined ? joinFigure(joined[name], value, across[name]) : value;
  return joined;
}

function joinFigure(known: unknown, value: unknown, across: FigureAcross | undefined): unknown {
  if (across === 'sum') return Number(known) + Number(value);
  if (across === 'largest') return Math.max(Number(known), Number(value));
  return across === 'every' ? known === true && value === true : known;
}

function stateOfProcesses(parts: readonly Part[] | undefined): ServiceState {
  if (parts === undefined) return { state: 'degraded', detail: 'their owner does not answer' };
  const silent = parts.filter(({ answer }) => answer === undefined).map(({ process }) => process);
  const serving = parts.length - silent.length;
  if (silent.length === 0) return { state: 'ready', serving };
  return { state: 'degraded', detail: `no answer from process ${silent.join(', ')}`, serving };
}

const WATCH_INTERVAL_MS = 15_000;
/** A start is not held up by it. */
const WATCH_DELAY_MS = 1000;
const STATES = ['ready', 'degraded', 'down'] as const;

/** The states for /metrics. They are read at an interval, because a scrape must not wait for a service that hangs. */
export function createReadinessWatch(
  checks: readonly ReadinessCheck[],
  log: Logger,
): { job: Job; metrics: readonly Metric[] } {
  let latest: readonly Checked[] = [];
  const job = createPeriodic({
    name: 'service.readiness',
    intervalMs: WATCH_INTERVAL_MS,
    delayMs: WATCH_DELAY_MS,
    run: async () => {
      latest = await Promise.all(checks.map(runCheck));
    },
    log,
  });
  const metrics = [
    gauge(
      'atrium_backing_service_state',
      'State of each service of /readyz: 1 for the one it is in.',
      () =>
        latest.flatMap(({ name: service, state: { state } }) =>
          STATES.map((each) => ({ labels: { service, state: each }, value: each === state ? 1 : 0 })),
        ),
      'largest',
    ),
  ];
  return { job, metrics };
}
