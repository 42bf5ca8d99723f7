// The state of each upstream and target while the service runs. This state survives reloads.

import { createCircuitBreaker } from '../core/circuit-breaker.ts';
import type { ErrorKind } from '../core/errors.ts';
import { ADAPTERS } from './adapters/index.ts';
import type { ModelSpec, TargetSpec, UpstreamSpec } from './catalogue/model.ts';
import { CIRCUIT, LATENCY_DECAY_MS } from './limits.ts';
import { UpstreamPermits } from './upstream-permits.ts';

/** In accounts and metrics, for models whose names callers made up. */
export const UNLISTED = 'unlisted';
const UNLISTED_MAX = 256;

/** The header with the target that answered or failed: `upstream/model`, `local/…` for a built-in model, or `cache`. */
export const TARGET_HEADER = 'atrium-model-target';

export type AttemptOutcome = 'ok' | 'refused' | 'failed' | 'timed-out' | 'left';

/** An attempt that failed, in our own words: no text of an upstream. */
export type TargetFailure = {
  atMs: number;
  kind: ErrorKind;
  reason: string;
  code: string | undefined;
  /** The upstream's status, if the upstream caused the failure. */
  status: number | undefined;
};

export class Upstream {
  spec: UpstreamSpec;
  readonly permits: UpstreamPermits;
  /** When it last answered anything, in monotonic milliseconds. */
  reachedAtMs = Number.NEGATIVE_INFINITY;
  /** A bare connection that is being tried: whether it succeeded in time. */
  connecting: Promise<boolean> | undefined;
  /** URL and headers of its models, by endpoint and model. They belong to the specification. */
  addresses = new Map<string, { url: string; headers: Headers }>();

  constructor(spec: UpstreamSpec) {
    this.spec = spec;
    this.permits = new UpstreamPermits(boundsOf(spec));
  }

  get adapter() {
    return ADAPTERS[this.spec.kind];
  }

  update(spec: UpstreamSpec): void {
    this.spec = spec;
    this.addresses = new Map();
    this.permits.resize(boundsOf(spec));
  }
}

const boundsOf = ({ concurrency: { max, queue } }: UpstreamSpec) => ({ runningMax: max, waitingMax: queue });

export class Target {
  /** `upstream/model`, for accounts, metrics and logs. */
  readonly name: string;
  /** The name as a header may hold it. */
  readonly headerName: string;
  readonly model: string;
  /** Undefined for a built-in model. */
  readonly upstream: Upstream | undefined;
  readonly circuit: ReturnType<typeof createCircuitBreaker>;
  /** The target requested a pause until then. */
  cooldownUntilMs = Number.NEGATIVE_INFINITY;
  running = 0;
  /** Decaying peak of its latency; 0 while nothing is known. */
  latencyMs = 0;
  latencyAtMs = 0;
  lastFailure: TargetFailure | undefined;
  /** Attempts since the start. */
  readonly attempts: Record<AttemptOutcome, number> = {
    ok: 0,
    refused: 0,
    failed: 0,
    'timed-out': 0,
    left: 0,
  };
  /** Its failed attempts in the log: since when they are counted, and how many were left out since the last one. */
  readonly logged = { sinceMs: 0, lines: 0, omitted: 0 };

  constructor(
    { model, upstream, name }: { model: string; upstream: Upstream | undefined; name?: string },
    now: () => number,
  ) {
    const ownName = `${upstream?.spec.name ?? 'local'}/${model}`;
    this.name = name ?? ownName;
    this.headerName = toHeaderValue(ownName);
    this.model = model;
    this.upstream = upstream;
    this.circuit = createCircuitBreaker({ ...CIRCUIT, now });
  }

  /** How often one request may ask it. */
  get tries(): number {
    return 1 + (this.upstream?.spec.retries ?? 0);
  }

  /** Whether it does not fail, and has not asked for a pause. */
  isFit(nowMs: number): boolean {
    return this.circuit.allows() && this.cooldownUntilMs <= nowMs;
  }

  /** A slower answer counts at once; faster ones are averaged in slowly (peak EWMA, as in Finagle's load balancer). */
  noteLatency(latencyMs: number, nowMs: number): void {
    const kept = this.keptLatency(nowMs);
    this.latencyMs = latencyMs > this.latencyMs ? latencyMs : this.latencyMs * kept + latencyMs * (1 - kept);
    this.latencyAtMs = nowMs;
  }

  /** The expected wait of a further request. The latency decays: a target that is never asked would stay slow for ever. */
  expectedWaitMs(nowMs: number): number {
    return this.latencyMs * this.keptLatency(nowMs) * (this.running + 1);
  }

  private keptLatency(nowMs: number): number {
    return Math.exp(-(nowMs - this.latencyAtMs) / LATENCY_DECAY_MS);
  }
}

/** Models may share a target, and weigh it differently. */
export type WeightedTarget = { target: Target; weight: number };

export type Model = Omit<ModelSpec, 'targets'> & {
  targets: readonly WeightedTarget[];
  /** All models that may come to answer: itself, and its fallbacks. */
  candidates: readonly Model[];
  /** A name that the upstream's list does not have: it is accounted for under that name once it has answered. */
  unlisted?: { answered: boolean };
};

/** Models with the state of every target and upstream that was there before. */
export class Targets {
  private upstreams = new Map<string, Upstream>();
  private targets = new Map<string, Target>();
  private readonly unlisted = new Map<string, Model>();
  private readonly now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** The models of a catalogue, in its order. */
  build(specs: readonly ModelSpec[]): Model[] {
    const upstreams = new Map<string, Upstream>();
    const targets = new Map<string, Target>();
    const toTarget = ({ upstream: spec, model, weight }: TargetSpec): WeightedTarget => {
      const upstream = spec && (upstreams.get(spec.name) ?? this.toUpstream(spec));
      if (upstream !== undefined) upstreams.set(upstream.spec.name, upstream);
      // Names may hold slashes, and an upstream may be called local.
      const key = JSON.stringify([upstream?.spec.name ?? null, model]);
      const known = targets.get(key) ?? this.targets.get(key);
      const target = known?.upstream === upstream ? known : undefined;
      const found = target ?? new Target({ model, upstream }, this.now);
      targets.set(key, found);
      return { target: found, weight };
    };
    const models = specs.map((model) => ({
      ...model,
      targets: model.targets.map(toTarget),
      candidates: [] as Model[],
    }));
    [this.upstreams, this.targets] = [upstreams, targets];
    const byId = new Map(models.map((model) => [model.id, model]));
    for (const model of models)
      model.candidates.push(model, ...model.fallbacks.flatMap((id) => byId.get(id) ?? []));
    return models;
  }

  /** A model by a name that a caller made up: what is kept of it is bounded, and it has no name of its own in metrics. */
  buildUnlisted(spec: ModelSpec): Model {
    const known = this.unlisted.get(spec.id);
    if (known !== undefined) return known;
    if (this.unlisted.size >= UNLISTED_MAX) this.unlisted.delete(this.unlisted.keys().next().value ?? '');
    const candidates: Model[] = [];
    const targets = spec.targets.map(({ upstream: each, model, weight }) => {
      const upstream = each && (this.upstreams.get(each.name) ?? this.toUpstream(each));
      if (upstream !== undefined) this.upstreams.set(upstream.spec.name, upstream);
      const name = `${upstream?.spec.name}/${UNLISTED}`;
      return { target: new Target({ model, upstream, name }, this.now), weight };
    });
    const model = { ...spec, targets, candidates, unlisted: { answered: false } };
    candidates.push(model);
    this.unlisted.set(spec.id, model);
    return model;
  }

  /** Those of the catalogue; models by names that callers made up are left out. */
  all(): Target[] {
    return [...this.targets.values()];
  }

  private toUpstream(spec: UpstreamSpec): Upstream {
    const known = this.upstreams.get(spec.name);
    if (known === undefined || known.spec.baseUrl !== spec.baseUrl) return new Upstream(spec);
    known.update(spec);
    return known;
  }
}

/** Percent-encodes all characters outside visible ASCII. */
const toHeaderValue = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[^\x21-\x7e]/gu, (character) =>
      [...Buffer.from(character)]
        .map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`)
        .join(''),
    );
