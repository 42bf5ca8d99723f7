// The current catalogue, and the model of a request in it. It is read at the start and on SIGHUP, with upstreams' lists refreshed at
// intervals. A request that began with one catalogue ends with it.

import { readFile } from 'node:fs/promises';
import { codeOf, explain, unavailable } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { SettingsError } from '../../core/settings-reader.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import { isText } from '../adapters/adapter.ts';
import { LISTING_RETRY_MS, LISTING_TTL_MS } from '../limits.ts';
import type { ModelCall } from '../model-call.ts';
import type { Catalogue, Model } from '../targets.ts';
import { FileMistake, type ReadVariable } from './file-mistake.ts';
import { listModels, namedModel } from './listing.ts';
import {
  BUILT_IN_CATALOGUE,
  type CatalogueSpec,
  isBuiltIn,
  MODEL_ID,
  type ModelSpec,
  type UpstreamSpec,
} from './model.ts';

export type CatalogueSource =
  | { kind: 'built-in' }
  | { kind: 'file'; path: string; variable: ReadVariable }
  | { kind: 'upstream'; upstream: UpstreamSpec };

/** Why the source could not be read the last time; `line`: of the models file, where the mistake is in one. */
type Mistake = { message: string; line: number | undefined; atMs: number };

export type CatalogueKeeper = ReturnType<typeof createCatalogue>;

export function createCatalogue(deps: {
  source: CatalogueSource;
  build: (spec: CatalogueSpec) => Catalogue;
  buildUnlisted: (spec: ModelSpec) => Model;
  log: Logger;
}) {
  const { source, build, buildUnlisted, log } = deps;
  let present: Catalogue | undefined = source.kind === 'built-in' ? build(BUILT_IN_CATALOGUE) : undefined;
  let loading: Promise<Catalogue> | undefined;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let readAtMs = present === undefined ? undefined : performance.now();
  let mistake: Mistake | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  const load = (): Promise<Catalogue> => {
    triedAtMs = performance.now();
    loading ??= read(source)
      .then((spec) => {
        mistake = undefined;
        present = source.kind === 'upstream' ? { ...build(spec), onMissing, unlisted } : build(spec);
        readAtMs = performance.now();
        return present;
      })
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };
  /** A requested model that is missing from an upstream's list may be new. */
  const onMissing = (): void => {
    if (performance.now() - triedAtMs > LISTING_RETRY_MS) void reload();
  };
  const unlisted = (name: string): Model | undefined => {
    if (source.kind !== 'upstream' || isBuiltIn(name) || !MODEL_ID.test(name)) return undefined;
    onMissing();
    return buildUnlisted(namedModel(name, source.upstream));
  };
  const reload = async (): Promise<void> => {
    // The list that is being read may be older than this request for a reload.
    await loading?.catch(() => undefined);
    try {
      const { models } = await load();
      log.info({ models: models.length }, 'the models are read');
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      mistake = { ...toPublicMistake(error, source), atMs: performance.now() };
      log.error({ reason: message }, 'the models cannot be read; those that were known go on to be served');
    }
  };

  return {
    source,
    /** When the current models were read; undefined if they never were. In monotonic milliseconds, as that of the mistake. */
    readAtMs: () => readAtMs,
    mistake: () => mistake,
    /** Immediate, unless an upstream's list was never loaded: then it is requested. Throws 503 if that fails. */
    current(): Catalogue | Promise<Catalogue> {
      if (present !== undefined) return present;
      return load().catch((error: unknown) => {
        throw unavailable("The upstream's list of models cannot be had", { cause: error });
      });
    },
    /** The current models, without any request. */
    known: () => present,
    /** Reads the source again; a mistake is logged, and the previous models stay in use. */
    reload,
    state: (): { state: 'ready' | 'degraded'; detail?: string } =>
      mistake === undefined
        ? { state: 'ready' }
        : { state: 'degraded', detail: `the models cannot be read: ${mistake.message}` },
    job: {
      name: 'gateway.catalogue',
      async start() {
        // A file with a mistake stops the start; an upstream that is away does not.
        if (source.kind === 'file') await load();
        if (source.kind !== 'upstream') return;
        await reload();
        timer = setInterval(() => void reload(), LISTING_TTL_MS);
      },
      async stop() {
        clearInterval(timer);
      },
    },
  };
}

/**
 * The model that is named, else the stated default of the endpoint. Throws 404, naming the models there are; 400 for one
 * that cannot do this; 501 where none can.
 */
export function findModel(
  catalogue: Catalogue,
  { endpoint, request }: Pick<ModelCall, 'endpoint' | 'request'>,
): Model {
  const makesImages =
    catalogue.unlisted !== undefined ||
    catalogue.models.some(({ endpoints }) => endpoints.includes('images'));
  if (endpoint === 'images' && !makesImages)
    throw new OpenAiRefusal('not-implemented', 'No model that makes images is configured');
  const name = request.model ?? catalogue.statedDefaults[endpoint];
  if (name === undefined || name === '') {
    throw new OpenAiRefusal('malformed', "The member 'model' is required", {
      param: 'model',
      code: 'missing_required_parameter',
    });
  }
  const model = catalogue.byId.get(name) ?? catalogue.unlisted?.(name);
  if (model === undefined) throw modelNotFound(catalogue, name);
  // Where only its name says what a model can do, the upstream decides; but nothing else is taken for a model of texts.
  const isGuess = catalogue.unlisted !== undefined && !isBuiltIn(name) && !isText(endpoint);
  if (!model.endpoints.includes(endpoint) && !isGuess) {
    const can = model.endpoints.length === 0 ? 'something else' : model.endpoints.join(', ');
    throw new OpenAiRefusal('malformed', `The model ${model.id} cannot do ${endpoint}; it does ${can}`, {
      param: 'model',
    });
  }
  return model;
}

/** 404, naming the models there are. */
export function modelNotFound({ models, onMissing }: Catalogue, name: string): OpenAiRefusal {
  onMissing?.();
  const shown = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
  const names = models.map(({ id }) => id).join(', ');
  return new OpenAiRefusal('not-found', `The model ${shown} does not exist. There are: ${names}`, {
    code: 'model_not_found',
    param: 'model',
  });
}

/** The mistake without the path of the file, because `/readyz` shows it to callers without a key. */
function toPublicMistake(error: unknown, { kind }: CatalogueSource): Pick<Mistake, 'message' | 'line'> {
  const { cause, message } = error instanceof Error ? error : new Error(String(error));
  if (cause instanceof FileMistake) return { message: cause.message, line: cause.line };
  if (kind !== 'file') return { message, line: undefined };
  return { message: `the models file cannot be opened: ${codeOf(cause)}`, line: undefined };
}

/** Throws SettingsError, with its line, for a models file with a mistake. */
export async function checkModels(source: CatalogueSource): Promise<void> {
  if (source.kind === 'file') await read(source);
}

async function read(source: CatalogueSource): Promise<CatalogueSpec> {
  if (source.kind === 'built-in') return BUILT_IN_CATALOGUE;
  if (source.kind === 'upstream')
    return listModels(source.upstream).catch((error: unknown) => {
      throw new Error(`OPENAI_BASE_URL: ${explain(error)}`, { cause: error });
    });
  // The library of YAML is loaded only where there is a file.
  const { parseModelsFile } = await import('./file.ts');
  try {
    return parseModelsFile(await readFile(source.path, 'utf8'), source.variable);
  } catch (error) {
    throw new SettingsError(`MODELS_CONFIG: ${source.path}: ${explain(error)}`, { cause: error });
  }
}
