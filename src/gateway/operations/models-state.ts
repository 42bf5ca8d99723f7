import type { Clock } from '../../core/clock.ts';
import { withoutCredentials } from '../../core/origin.ts';
import type { Principal } from '../../core/principal.ts';
import type { CatalogueKeeper } from '../catalogue/current.ts';
import type { Price } from '../catalogue/model.ts';
import type { AttemptCounts } from '../execute.ts';
import type { ModelsState } from '../state-schema.ts';
import type { Catalogue, Model, Target } from '../targets.ts';

type ModelsStateDeps = {
  catalogue: Pick<CatalogueKeeper, 'source' | 'known' | 'readAtMs' | 'mistake'>;
  targets: () => Iterable<Target>;
  attempts: AttemptCounts;
  clock: Clock;
};

/** The catalogue and its targets as this process has them. Addresses and paths are for operators alone. */
export function createModelsState({ catalogue, targets, attempts, clock }: ModelsStateDeps) {
  return (principal: Pick<Principal, 'scopes'>): ModelsState => {
    const isOperator = principal.scopes.has('operator');
    const offsetMs = clock.now().getTime() - performance.now();
    const toTime = (atMs: number): string => new Date(offsetMs + atMs).toISOString();
    const { source } = catalogue;
    const known = catalogue.known();
    const readAtMs = catalogue.readAtMs();
    const mistake = catalogue.mistake();
    return {
      source: source.kind,
      file: isOperator && source.kind === 'file' ? source.path : null,
      read_at: readAtMs === undefined ? null : toTime(readAtMs),
      mistake:
        mistake === undefined
          ? null
          : { message: mistake.message, line: mistake.line ?? null, at: toTime(mistake.atMs) },
      models: known?.models.map((model) => renderModel(model, known)) ?? [],
      targets: [...targets()].map((target) => ({
        ...renderTarget(target, toTime),
        base_url:
          isOperator && target.upstream !== undefined
            ? withoutCredentials(target.upstream.spec.baseUrl)
            : null,
        attempts: { ...NO_ATTEMPTS, ...attempts.get(target.name) },
      })),
    };
  };
}

const NO_ATTEMPTS = { ok: 0, refused: 0, failed: 0, 'timed-out': 0, left: 0 };

const renderModel = (
  model: Model,
  { defaults, statedDefaults }: Catalogue,
): ModelsState['models'][number] => ({
  id: model.id,
  description: model.description ?? null,
  owned_by: model.ownedBy,
  endpoints: [...model.endpoints],
  default_of: model.endpoints.filter((each) => ({ ...defaults, ...statedDefaults })[each] === model.id),
  strategy: model.strategy,
  targets: model.targets.map(({ target, weight }) => ({ target: target.name, weight })),
  fallbacks: [...model.fallbacks],
  price: model.price === undefined ? null : renderPrice(model.price),
  cache_ttl_seconds: model.cacheTtlSeconds,
});

const renderPrice = (price: Price) => ({
  input_per_million: price.inputPerMillion,
  output_per_million: price.outputPerMillion,
  ...(price.cacheReadPerMillion !== undefined && { cache_read_per_million: price.cacheReadPerMillion }),
  ...(price.cacheWritePerMillion !== undefined && { cache_write_per_million: price.cacheWritePerMillion }),
  ...(price.perImage !== undefined && { per_image: Object.fromEntries(price.perImage) }),
});

function renderTarget(target: Target, toTime: (atMs: number) => string) {
  const { circuit, upstream, lastFailure } = target;
  const isKnown = target.latencyAtMs > 0;
  const isResting = target.cooldownUntilMs > performance.now();
  return {
    target: target.name,
    kind: upstream?.spec.kind ?? 'built-in',
    circuit: { state: circuit.state(), since: toTime(circuit.sinceMs()) },
    resting_until: isResting ? toTime(target.cooldownUntilMs) : null,
    latency_ms: isKnown ? Math.round(target.latencyMs * 1000) / 1000 : null,
    latency_at: isKnown ? toTime(target.latencyAtMs) : null,
    running: target.running,
    waiting: upstream?.permits.metrics().waiting ?? 0,
    last_failure:
      lastFailure === undefined
        ? null
        : {
            at: toTime(lastFailure.atMs),
            kind: lastFailure.kind,
            reason: lastFailure.reason,
            code: lastFailure.code ?? null,
            status: lastFailure.status ?? null,
          },
  };
}
