// What all clients have in common: requests that are counted by outcome, the rules that every answer keeps whatever
// strikes, and the list of what was violated.

import type { Answer, Caller } from '../../acceptance/support/caller.ts';
import type { MetricRecord } from '../../acceptance/support/metrics.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../support/service.ts';
import { asksAgain, createPlainCaller, LostAnswer } from '../support/caller.ts';
import type { Random } from '../support/random.ts';
import type { PlannedParts } from './planned.ts';

/** What is counted: by client kind, and by status or `lost`. */
export type Tally = { acknowledged: Map<string, number>; refused: Map<string, number> };

/** Invariant by invariant, the first few examples. */
export type Violations = Map<string, string[]>;

/** A row of the audit log, as far as it is compared. */
export type AuditRow = {
  action: string;
  actor: string;
  object: { kind: string; id: string | null };
  after: Record<string, unknown> | null;
};

/** What is true of the service at one look, once everything is well again. */
export type World = {
  /** Every usage event of the workspace, in the order of the pages. */
  events: MetricRecord[];
  /** Sums of model usage by the id of the key. */
  usage: Map<string, { requests: number; cost: number }>;
  /** Every row of the audit log of the workspace, newest first. */
  audit: AuditRow[];
};

/** One client's way to the service. */
export type Desk = {
  parts: PlannedParts;
  random: Random;
  call: Caller;
  adminKey: string;
  workspace: string;
  /** Usage records wait in memory while the event buffer fails, and are lost with a process that is killed meanwhile. */
  bufferFails: boolean;
  /** Whether the load is over. */
  isOver(): boolean;
  pause(): Promise<void>;
  /**
   * The answer, where it says for sure what became of the request: undefined where it was lost or refused for the moment (503,
   * 429), after which the request may have taken effect all the same. A status that is not expected is a violation.
   */
  attempt(expected: readonly number[], run: () => Promise<Answer>): Promise<Answer | undefined>;
  violate(invariant: string, detail: string): void;
};

export type Client = {
  /** Works until the load is over. */
  work(): Promise<void>;
  /** Asks again for what was left open, once all is well. */
  settle(): Promise<void>;
  /** Remembers the answers so far; the returned function forgets all that came after. */
  keep(): () => void;
  /** What is not as it was promised (yet); polled until it is empty or the time is over. */
  check(world: World): Promise<string[]>;
  /** Keys of the bucket that belong to what the client has, as of the last check. */
  objects?(): string[];
};

const ANSWER_MS_MAX = 8000;
/** By kind of client: a model that fails is answered so, and is no failure of the service. */
const OF_UPSTREAMS: Record<string, readonly number[]> = { models: [500, 502, 504], chat: [502, 504] };
const EXAMPLES_MAX = 4;
const PAUSE_MS = { from: 2, to: 40 };
const LOST_PAUSE_MS = { from: 20, to: 150 };

export function addTo(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

export function violate(violations: Violations, invariant: string, detail: string): void {
  const examples = violations.get(invariant) ?? [];
  if (examples.length < EXAMPLES_MAX) examples.push(detail.slice(0, 1500));
  violations.set(invariant, examples);
}

export type Observe = (request: { beganAt: number; ms: number; status: number }) => void;

const observed = (call: Caller, observe: Observe | undefined): Caller =>
  observe === undefined
    ? call
    : async (...request) => {
        const beganAt = performance.now();
        let status = 0;
        try {
          const answer = await call(...request);
          ({ status } = answer);
          return answer;
        } finally {
          observe({ beganAt, ms: performance.now() - beganAt, status });
        }
      };

export function createDesk(options: {
  url: string;
  kind: string;
  parts: PlannedParts;
  bufferFails: boolean;
  random: Random;
  tally: Tally;
  violations: Violations;
  /** Nothing has been struck yet. */
  isPreparing(): boolean;
  isOver(): boolean;
  /** Told of each request: when it began, how long it took, and its status, or 0 where the answer was lost. */
  observe?: Observe;
  answerMsMax?: number;
  pauseMs?: { from: number; to: number };
}): Desk {
  const { url, kind, parts, bufferFails, random, tally, violations, isPreparing, isOver } = options;
  const { observe, answerMsMax = ANSWER_MS_MAX, pauseMs = PAUSE_MS } = options;
  const plain = observed(createPlainCaller(url, answerMsMax), observe);
  // Nothing is struck yet that could keep an answer: it may take as long as the machine needs.
  const insistent = asksAgain(observed(createPlainCaller(url), observe));
  const ask: Caller = (...request) => (isPreparing() ? insistent : plain)(...request);
  const note = (invariant: string, detail: string): void =>
    violate(violations, invariant, `${kind}: ${detail}`);
  const call: Caller = async (method, path, request) => {
    try {
      const answer = await ask(method, path, request);
      const { status, headers, text } = answer;
      if (status < 300) addTo(tally.acknowledged, kind);
      else addTo(tally.refused, `${status}`);
      const description = `${method} ${path}: ${status} ${text}`;
      const isOwn = OF_UPSTREAMS[kind]?.includes(status) !== true;
      if (status >= 500 && status !== 503 && isOwn) note(`no answer is a ${status}`, description);
      if (status === 503 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''))
        note('a 503 says when to come again', description);
      return answer;
    } catch (error) {
      if (error instanceof LostAnswer) addTo(tally.refused, 'lost');
      throw error;
    }
  };
  const attempt: Desk['attempt'] = async (expected, run) => {
    try {
      const answer = await run();
      if (expected.includes(answer.status)) return answer;
      // 5xx are judged where all answers are.
      if (answer.status !== 429 && answer.status < 500)
        note('every status is one that the operation has in that state', `${answer.status} ${answer.text}`);
      return undefined;
    } catch (error) {
      if (!(error instanceof LostAnswer)) throw error;
      // The service may not be running for a while.
      await Bun.sleep(random.between(LOST_PAUSE_MS));
      return undefined;
    }
  };
  return {
    parts,
    bufferFails,
    random,
    call,
    isOver,
    violate: note,
    adminKey: BOOTSTRAP_KEY,
    workspace: WORKSPACE,
    pause: () => Bun.sleep(random.between(pauseMs)),
    attempt,
  };
}
