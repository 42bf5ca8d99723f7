// The state of each target while the service runs. This state survives reloads.

import { createCircuitBreaker } from '../core/circuit-breaker.ts';
import type { ErrorKind } from '../core/errors.ts';
import type { Adapter, Endpoint } from './adapters/adapter.ts';
import { ADAPTERS } from './adapters/index.ts';
import type { CatalogueSpec, ModelSpec, TargetSpec, UpstreamSpec } from './catalogue/model.ts';
import { CIRCUIT } from './limits.ts';
import { createUpstreamPermits, type UpstreamPermits } from './upstream-permits.ts';

/** In accounts and metrics, for models whose names callers made up. */
export const UNLISTED = 'unlisted';
const UNLISTED_MAX = 256;

/** The header with the target that answered or failed: `upstream/model`, `local/…` for a built-in model, or `cache`. */
export const TARGET_HEADER = 'atrium-model-target';

export type Upstream = {
  spec: UpstreamSpec;
  adapter: Adapter;
  permits: UpstreamPermits;
  /** When it last answered anything, in monotonic milliseconds. */
  reachedAtMs: number;
};

export type Target = {
  /** `upstream/model`, for accounts, metrics and logs. */
  name: string;
  /** The name as a header may hold it. */
  headerName: string;
  model: string;
  /** Undefined for a built-in model. */
  upstream: Upstream | undefined;
  circuit: ReturnType<typeof createCircuitBreaker>;
  /** The target requested a pause until then. */
  cooldownUntilMs: number;
  running: number;
  /** Decaying peak of its latency; 0 while nothing is known. */
  latencyMs: number;
  latencyAtMs: number;
  /** Absent: no attempt has failed. */
  lastFailure?: TargetFailure;
};

/** An attempt that failed, in our own words: no text of an upstream. */
export type TargetFailure = {
  atMs: number;
  kind: ErrorKind;
  reason: string;
  code: string | undefined;
  /** The upstream's status, if the upstream caused the failure. */
  status: number | undefined;
};

/** Models may share a target, and weigh it differently. */
export type WeightedTarget = { target: Target; weight: number };

export type Model = Omit<ModelSpec, 'targets'> & {
  targets: readonly WeightedTarget[];
  /** All models that may come to answer: itself, and its fallbacks. */
  candidates: readonly Model[];
  /** A name that the upstream's list does not have: it is accounted for under that name once it has answered. */
  unlisted?: { answered: boolean };
};

export type Catalogue = {
  /** In the order of the file. */
  models: readonly Model[];
  byId: ReadonlyMap<string, Model>;
  /** Told of a request for a model that is not there. */
  onMissing?(): void;
  /** A model that the one upstream may have, though its list does not name it. */
  unlisted?(name: string): Model | undefined;
  defaults: CatalogueSpec['defaults'];
  statedDefaults: CatalogueSpec['statedDefaults'];
};

/** Names of the models that can do this, in the order of the file. */
export const idsOf = ({ models }: Catalogue, endpoint: Endpoint): string[] =>
  models.filter(({ endpoints }) => endpoints.includes(endpoint)).map(({ id }) => id);

/** For the documentation: the models of an endpoint; empty while none is known yet. */
export const toChoices =
  (known: () => Catalogue | undefined) =>
  (endpoint: Endpoint): { ids: readonly string[]; fallback: string | undefined } => {
    const catalogue = known();
    if (catalogue === undefined) return { ids: [], fallback: undefined };
    const { defaults, statedDefaults } = catalogue;
    const fallback = endpoint === 'embeddings' ? defaults.embeddings : statedDefaults[endpoint];
    return { ids: idsOf(catalogue, endpoint), fallback };
  };

/** Turns specifications into a catalogue, with the state of every target and upstream that was there before. */
export function createTargets(now: () => number = () => performance.now()) {
  let upstreams = new Map<string, Upstream>();
  let targets = new Map<string, Target>();

  const toUpstream = (spec: UpstreamSpec): Upstream => {
    const known = upstreams.get(spec.name);
    if (known === undefined || known.spec.baseUrl !== spec.baseUrl) {
      const permits = createUpstreamPermits(boundsOf(spec));
      return { spec, adapter: ADAPTERS[spec.kind], permits, reachedAtMs: Number.NEGATIVE_INFINITY };
    }
    known.permits.resize(boundsOf(spec));
    return Object.assign(known, { spec, adapter: ADAPTERS[spec.kind] });
  };

  const unlisted = new Map<string, Model>();
  const toUnlisted = ({ upstream: spec, model, weight }: TargetSpec): WeightedTarget => {
    const upstream = spec && (upstreams.get(spec.name) ?? toUpstream(spec));
    if (upstream !== undefined) upstreams.set(upstream.spec.name, upstream);
    const target = createTarget({ name: `${upstream?.spec.name}/${UNLISTED}`, model, upstream }, now);
    return { target: { ...target, headerName: toHeaderValue(`${upstream?.spec.name}/${model}`) }, weight };
  };

  return {
    build(catalogue: CatalogueSpec): Catalogue {
      const nextUpstreams = new Map<string, Upstream>();
      const nextTargets = new Map<string, Target>();
      const toTarget = ({ upstream: spec, model, weight }: TargetSpec): WeightedTarget => {
        const upstream = spec === undefined ? undefined : (nextUpstreams.get(spec.name) ?? toUpstream(spec));
        if (upstream !== undefined) nextUpstreams.set(upstream.spec.name, upstream);
        const name = `${upstream?.spec.name ?? 'local'}/${model}`;
        // Names may hold slashes, and an upstream may be called local.
        const key = JSON.stringify([upstream?.spec.name ?? null, model]);
        const known = targets.get(key);
        const shared = nextTargets.get(key) ?? (known?.upstream === upstream ? known : undefined);
        const target = shared ?? createTarget({ name, model, upstream }, now);
        nextTargets.set(key, target);
        return { target, weight };
      };
      const models = catalogue.models.map((model) => {
        const candidates: Model[] = [];
        return { ...model, targets: model.targets.map(toTarget), candidates };
      });
      [upstreams, targets] = [nextUpstreams, nextTargets];
      const byId = new Map(models.map((model) => [model.id, model]));
      for (const model of models)
        model.candidates.push(model, ...model.fallbacks.flatMap((id) => byId.get(id) ?? []));
      const { defaults, statedDefaults } = catalogue;
      return { models, defaults, statedDefaults, byId };
    },
    /** A model by a name that a caller made up: what is kept of it is bounded, and it has no name of its own in metrics. */
    buildUnlisted(spec: ModelSpec): Model {
      const known = unlisted.get(spec.id);
      if (known !== undefined) return known;
      if (unlisted.size >= UNLISTED_MAX) unlisted.delete(unlisted.keys().next().value ?? '');
      const model = { ...spec, targets: spec.targets.map(toUnlisted), unlisted: { answered: false } };
      const built: Model = { ...model, candidates: [] };
      Object.assign(built, { candidates: [built] });
      unlisted.set(spec.id, built);
      return built;
    },
    all: (): Iterable<Target> => targets.values(),
  };
}

const boundsOf = ({ concurrency }: UpstreamSpec) => ({
  runningMax: concurrency.max,
  waitingMax: concurrency.queue,
});

function createTarget(
  { name, model, upstream }: Pick<Target, 'name' | 'model' | 'upstream'>,
  now: () => number,
): Target {
  return {
    name,
    model,
    upstream,
    headerName: toHeaderValue(name),
    circuit: createCircuitBreaker({ ...CIRCUIT, now }),
    cooldownUntilMs: Number.NEGATIVE_INFINITY,
    running: 0,
    latencyMs: 0,
    latencyAtMs: 0,
  };
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
