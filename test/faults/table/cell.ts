// One cell: every area under load, a fault for a while, and afterwards what clients saw, what was lost, and how long until all
// was well.

import { within } from '../../../src/core/wait.ts';
import { eventually } from '../../support/child.ts';
import { becomesQuiet, checkUntilRight } from '../seeds/checks.ts';
import {
  type Client,
  createDesk,
  type Desk,
  type Observe,
  type Violations,
  violate,
} from '../seeds/client.ts';
import { createModelsClient } from '../seeds/clients/models.ts';
import { CLIENTS } from '../seeds/run-seed.ts';
import { createPlainCaller } from '../support/caller.ts';
import { createRandom } from '../support/random.ts';
import {
  AREAS,
  type Area,
  type AreaFigures,
  type CellResult,
  type Fault,
  type Service,
  TAKEN,
} from './cells.ts';
import {
  createComputeClient,
  createRetrievalClient,
  createSearchClient,
  createSignOnClient,
} from './clients.ts';
import { missingOf, startTableSite, type TableSite } from './site.ts';
import { strike } from './strike.ts';

/** Longer than the longest time-out of the service, which is that of a bot's answer. */
const ANSWER_MS_MAX = 25_000;
const PAUSE_MS = { from: 20, to: 120 };
/**
 * Of each area beside those that hurry: where answers take seconds, a cell rests on the requests of many, and where they take
 * milliseconds, these add little load.
 */
const PATIENT = { clients: 11, pauseMs: { from: 1000, to: 2000 } };
const BEFORE_MS = 1500;
/** So long without a failure is well. */
const CALM_MS = 2000;
const WELL_MS_MAX = 90_000;
const LOOK_MS = 50;
/** A cell that takes longer is given up. */
const CELL_MS_MAX = 300_000;
/** Of the service's output, for who looks for the reason. */
const OUTPUT_LENGTH = 6000;
/** Where no check can find what was lost: the fault takes it with it, or the service is not there again. */
const SHORT_CHECK_MS = 5000;

type Sample = { area: Area; beganAt: number; endedAt: number; status: number };
type Maker = (desk: Desk, observe: Observe, url: string) => Promise<Client>;

/** Who works in each area; `kind` is what the desk calls them. */
const WORKERS: Record<Area, { kind: string; make: Maker }[]> = {
  documents: [{ kind: 'documents', make: CLIENTS.documents }],
  search: [{ kind: 'search', make: createSearchClient }],
  gateway: [{ kind: 'models', make: (desk) => createModelsClient(desk, false) }],
  chat: [{ kind: 'chat', make: CLIENTS.chat }],
  bots: [
    { kind: 'bots', make: CLIENTS.bots },
    { kind: 'bots', make: CLIENTS.bots },
  ],
  events: [
    { kind: 'events', make: CLIENTS.events },
    { kind: 'reader', make: CLIENTS.reader },
  ],
  compute: [{ kind: 'compute', make: createComputeClient }],
  portal: [
    { kind: 'portal', make: CLIENTS.portal },
    { kind: 'keys', make: CLIENTS.keys },
    {
      kind: 'sign-on',
      make: async (desk, observe, url) =>
        createSignOnClient(desk, { url, observe, timeoutMs: ANSWER_MS_MAX }),
    },
  ],
  knowledge: [
    { kind: 'knowledge', make: CLIENTS.knowledge },
    { kind: 'retrieval', make: createRetrievalClient },
  ],
};

const failed = ({ status }: Sample): boolean => status === 0 || status >= 500;

type Cell = { service: Service; fault: Fault; seconds: number };

/** Undefined where it took too long, and was given up; nothing of it runs any more. */
export async function runCell(cell: Cell, template: string): Promise<CellResult | undefined> {
  const missing = missingOf(cell.service, cell.fault);
  if (missing !== undefined) return { missing };
  await using on = await startTableSite(cell.service, cell.fault, template);
  const givenUp = new AbortController();
  const work = workOn(on, cell, givenUp.signal);
  // What fails once it was given up fails for that reason.
  work.catch(() => undefined);
  const result = await within(work, CELL_MS_MAX, () => undefined);
  if (result === undefined) {
    givenUp.abort();
    console.error(on.site.parts.service.output().slice(-OUTPUT_LENGTH));
  }
  return result;
}

async function workOn(
  on: TableSite,
  { service, fault, seconds }: Cell,
  givenUp: AbortSignal,
): Promise<CellResult> {
  const samples: Sample[] = [];
  const violations: Violations = new Map();
  const load = await startLoad(on, {
    samples,
    violations,
    bufferFails: service === 'disk' && fault === 'killed',
    givenUp,
  });
  await Bun.sleep(BEFORE_MS);

  const struckAt = performance.now();
  const undo = await strike(service, fault, on);
  await Bun.sleep(Math.max(0, struckAt + seconds * 1000 - performance.now()));
  const healingAt = performance.now();
  await undo();
  const wellMs = await becomesWell(on.site.url, { samples, healingAt });
  const clients = await load.end();
  const taken = TAKEN[`${service} ${fault}`] !== undefined;
  // A service that is not well in time does not become so in the time of the checks.
  const isShort = taken || wellMs === null;
  const problems = await settle(on, clients, { timeoutMs: isShort ? SHORT_CHECK_MS : undefined });
  for (const problem of problems) violate(violations, problem.replace(/:.*/s, ''), problem);
  for (const last of on.site.parts.service.endedByItself)
    violate(violations, 'no process ends by itself', last);
  if (violations.size > 0)
    console.error([...violations].map(([name, all]) => `${name}\n  ${all.join('\n  ')}`).join('\n'));
  const during = samples.filter(({ beganAt, endedAt }) => endedAt >= struckAt && beganAt < healingAt);
  const areas = Object.fromEntries(
    (Object.keys(AREAS) as Area[]).map((area) => [
      area,
      figuresOf(during.filter((each) => each.area === area)),
    ]),
  ) as Record<Area, AreaFigures>;
  return { areas, lost: [...violations.keys()], wellMs, seconds };
}

type Load = { samples: Sample[]; violations: Violations; bufferFails: boolean; givenUp: AbortSignal };

async function startLoad(
  { site, parts }: TableSite,
  { samples, violations, bufferFails, givenUp }: Load,
): Promise<{ end(): Promise<Client[]> }> {
  let [isPreparing, isOver] = [true, false];
  const workers = Object.entries(WORKERS).flatMap(([area, all]) => {
    const hurried = all.map((worker) => ({ ...worker, area: area as Area, pauseMs: PAUSE_MS }));
    const patient = Array.from({ length: PATIENT.clients }, () => hurried.slice(0, 1));
    return [...hurried, ...patient.flat().map((worker) => ({ ...worker, pauseMs: PATIENT.pauseMs }))];
  });
  const clients = await Promise.all(
    workers.map(({ kind, area, make, pauseMs }, index) => {
      const observe: Observe = ({ beganAt, ms, status }) =>
        void (isPreparing || samples.push({ area, beganAt, endedAt: beganAt + ms, status }));
      const desk = createDesk({
        url: site.url,
        kind,
        parts,
        bufferFails,
        violations,
        observe,
        answerMsMax: ANSWER_MS_MAX,
        pauseMs,
        random: createRandom(index),
        tally: { acknowledged: new Map(), refused: new Map() },
        isPreparing: () => isPreparing,
        isOver: () => isOver || givenUp.aborted,
      });
      return make(desk, observe, site.url);
    }),
  );
  isPreparing = false;
  const working = Promise.all(clients.map((client) => client.work()));
  return {
    async end() {
      isOver = true;
      await working;
      return clients;
    },
  };
}

/** Milliseconds from the end of the fault; null where it took too long. */
async function becomesWell(
  url: string,
  { samples, healingAt }: { samples: readonly Sample[]; healingAt: number },
): Promise<number | null> {
  const call = createPlainCaller(url, ANSWER_MS_MAX);
  let readyAt: number | undefined;
  /** When the last failure was answered, and each area had been answered since. */
  const wellAt = (): number | undefined => {
    const after = samples.filter(({ beganAt }) => beganAt >= healingAt);
    const firsts = (Object.keys(AREAS) as Area[]).map(
      (area) => after.find((sample) => sample.area === area && !failed(sample))?.endedAt,
    );
    if (firsts.some((first) => first === undefined)) return undefined;
    return Math.max(
      ...(firsts as number[]),
      ...after.filter(failed).map(({ endedAt }) => endedAt),
      readyAt ?? 0,
    );
  };
  const isCalm = async (): Promise<boolean> => {
    await Bun.sleep(LOOK_MS);
    const answer = await call('GET', '/readyz').catch(() => undefined);
    const isReady = answer?.status === 200;
    if (!isReady) readyAt = undefined;
    else readyAt ??= performance.now();
    const at = wellAt();
    return isReady && at !== undefined && performance.now() - at > CALM_MS;
  };
  const isWell = await eventually('the service to be well', isCalm, WELL_MS_MAX).catch(() => false);
  return isWell ? Math.max(0, Math.round((wellAt() ?? healingAt) - healingAt)) : null;
}

/** What is not as it was acknowledged, once all is quiet. */
async function settle(
  { site, parts }: TableSite,
  clients: readonly Client[],
  { timeoutMs }: { timeoutMs: number | undefined },
): Promise<string[]> {
  const late: string[] = [];
  await becomesQuiet(site).catch(
    (error: Error) => void late.push(`the service is ready again: ${error.message}`),
  );
  await Promise.all(clients.map((client) => client.settle()));
  return [...late, ...(await checkUntilRight(site, { parts }, clients, timeoutMs))];
}

function figuresOf(samples: readonly Sample[]): AreaFigures {
  const times = samples
    .map(({ beganAt, endedAt }) => endedAt - beganAt)
    .toSorted((one, other) => one - other);
  const unavailable = samples.filter(({ status }) => status === 503).length;
  const broken = samples.filter((sample) => failed(sample) && sample.status !== 503).length;
  // For the client, an exhausted quota is a failure; a client's own limits are not tried here.
  const limited = samples.filter(({ status }) => status === 429).length;
  return {
    answered: samples.length - unavailable - broken - limited,
    unavailable,
    failed: broken + limited,
    p50Ms: Math.round(times[Math.floor(0.5 * (times.length - 1))] ?? 0),
    worstMs: Math.round(times.at(-1) ?? 0),
  };
}
