// The catalogue and its targets as this process has them, for administrators.

import { Elysia } from 'elysia';
import type { Clock } from '../../core/clock.ts';
import { withoutCredentials } from '../../core/origin.ts';
import type { Principal } from '../../core/principal.ts';
import type { Http } from '../../http/http.ts';
import { answer } from '../../http/input.ts';
import type { Catalogue, CatalogueKeeper } from '../catalogue/current.ts';
import type { Price } from '../catalogue/model.ts';
import { MODELS_STATE_EXAMPLE } from '../examples.ts';
import { ModelsState } from '../state-schema.ts';
import type { Model, Target, Targets } from '../targets.ts';

type ModelsStateDeps = { catalogue: CatalogueKeeper; targets: Targets; clock: Clock };

export const modelsStateRoutes = ({ plugin }: Http, deps: ModelsStateDeps) =>
  new Elysia({ name: 'gateway.models-state', tags: ['models'] })
    .use(plugin)
    .get('/admin/api/models', ({ principal }) => readState(principal, deps), {
      key: { in: 'administration', scope: 'admin' },
      response: {
        200: answer({ description: 'The catalogue.', schema: ModelsState, example: MODELS_STATE_EXAMPLE }),
      },
      detail: {
        operationId: 'models.state',
        summary:
          'The models as they run: prices, targets with their circuits, the mistake of the models file',
        description:
          'As the process that answers has it: each one learns by its own calls how a target does. It contains no key ' +
          'and no header of an upstream.',
      },
    });

/** Addresses and paths are for operators alone. */
function readState(
  { scopes }: Pick<Principal, 'scopes'>,
  { catalogue, targets, clock }: ModelsStateDeps,
): ModelsState {
  const isOperator = scopes.has('operator');
  const offsetMs = clock.now().getTime() - performance.now();
  const toTime = (atMs: number): string => new Date(offsetMs + atMs).toISOString();
  const { source, known, readAtMs, mistake } = catalogue;
  return {
    source: source.kind,
    file: isOperator && source.kind === 'file' ? source.path : null,
    read_at: readAtMs === undefined ? null : toTime(readAtMs),
    mistake:
      mistake === undefined
        ? null
        : { message: mistake.message, line: mistake.line ?? null, at: toTime(mistake.atMs) },
    models: known?.models.map((model) => renderModel(model, known)) ?? [],
    targets: targets.all().map((target) => {
      const { upstream } = target;
      const url = isOperator && upstream !== undefined ? withoutCredentials(upstream.spec.baseUrl) : null;
      return { ...renderTarget(target, toTime), base_url: url };
    }),
  };
}

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
    attempts: { ...target.attempts },
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
