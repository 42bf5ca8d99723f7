// The current catalogue, and the model of a request in it. It is read at the start and on SIGHUP, with upstreams' lists refreshed at
// intervals. A request that began with one catalogue ends with it.

import { readFile } from 'node:fs/promises';
import { codeOf, explain, unavailable } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { SettingsError } from '../../core/settings-reader.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import { LISTING_RETRY_MS, LISTING_TTL_MS } from '../limits.ts';
import { type Endpoint, type GatewayRequest, isText } from '../request.ts';
import type { Model, Targets } from '../targets.ts';
import { listModels, namedModel } from './listing.ts';
import {
  BUILT_IN_CATALOGUE,
  type CatalogueSpec,
  FileMistake,
  isBuiltIn,
  MODEL_ID,
  type ReadVariable,
  UPSTREAM_DEFAULTS,
  type UpstreamSpec,
} from './model.ts';

export type CatalogueSource =
  | { kind: 'built-in' }
  | { kind: 'file'; path: string; variable: ReadVariable }
  | { kind: 'upstream'; upstream: UpstreamSpec };

/** The models, in the order of the file, and by name. */
export type Catalogue = Omit<CatalogueSpec, 'models'> & {
  models: readonly Model[];
  byId: ReadonlyMap<string, Model>;
};

/** Why the source could not be read the last time; `line`: of the models file, where the mistake is in one. */
type Mistake = { message: string; line: number | undefined; atMs: number };

/** Where the settings say that the models come from. */
export function toSource(settings: {
  modelsFile: string | undefined;
  openai:
    | { baseUrl: string; apiKey: string | undefined; timeoutMs?: number; idleTimeoutMs?: number }
    | undefined;
  variable: ReadVariable;
}): CatalogueSource {
  const { modelsFile, openai, variable } = settings;
  if (modelsFile !== undefined) return { kind: 'file', path: modelsFile, variable };
  if (openai === undefined) return { kind: 'built-in' };
  const { baseUrl, apiKey, timeoutMs: total, idleTimeoutMs: idle } = openai;
  const { timeoutsMs } = UPSTREAM_DEFAULTS;
  const stated = { ...(total !== undefined && { total }), ...(idle !== undefined && { idle }) };
  return {
    kind: 'upstream',
    upstream: {
      ...UPSTREAM_DEFAULTS,
      name: 'openai',
      baseUrl,
      apiKey,
      timeoutsMs: { ...timeoutsMs, ...stated },
    },
  };
}

export class CatalogueKeeper {
  readonly source: CatalogueSource;
  /** The current models; undefined where an upstream's list was never loaded. */
  known: Catalogue | undefined;
  /** When they were read, and the mistake of a later reading, in monotonic milliseconds. */
  readAtMs: number | undefined;
  mistake: Mistake | undefined;
  private readonly targets: Targets;
  private readonly log: Logger;
  private loading: Promise<Catalogue> | undefined;
  private triedAtMs = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor({ source, targets, log }: { source: CatalogueSource; targets: Targets; log: Logger }) {
    this.source = source;
    this.targets = targets;
    this.log = log;
    if (source.kind === 'built-in') this.use(BUILT_IN_CATALOGUE);
  }

  /** Immediate, unless an upstream's list was never loaded: then it is requested. Throws 503 if that fails. */
  current(): Catalogue | Promise<Catalogue> {
    return (
      this.known ??
      this.load().catch((error: unknown) => {
        throw unavailable("The upstream's list of models is unavailable", { cause: error });
      })
    );
  }

  /** Reads the source again; a mistake is logged, and the previous models stay in use. */
  async reload(): Promise<void> {
    // The list that is being read may be older than this request for a reload.
    await this.loading?.catch(() => undefined);
    try {
      const { models } = await this.load();
      this.log.info({ models: models.length }, 'the models are read');
    } catch (error) {
      this.mistake = { ...toPublicMistake(error, this.source), atMs: performance.now() };
      const reason = error instanceof Error ? error.message : String(error);
      this.log.error({ reason }, 'the models cannot be read; those that were known go on to be served');
    }
  }

  state(): { state: 'ready' | 'degraded'; detail?: string } {
    return this.mistake === undefined
      ? { state: 'ready' }
      : { state: 'degraded', detail: `the models cannot be read: ${this.mistake.message}` };
  }

  /**
   * The model that is named, else the stated default of the endpoint. Throws 404, naming the models there are; 400 for one
   * that cannot do this; 501 where none can.
   */
  find(catalogue: Catalogue, { endpoint, request }: { endpoint: Endpoint; request: GatewayRequest }): Model {
    const isOpen = this.source.kind === 'upstream';
    if (endpoint === 'images' && !isOpen && idsOf(catalogue, 'images').length === 0)
      throw new OpenAiRefusal('not-implemented', 'No model that makes images is configured');
    const name = request.model ?? catalogue.statedDefaults[endpoint];
    if (name === undefined || name === '')
      throw new OpenAiRefusal('malformed', "The member 'model' is required", {
        param: 'model',
        code: 'missing_required_parameter',
      });
    const model = this.named(catalogue, name);
    if (model === undefined) throw this.notFound(catalogue, name);
    // Where only its name says what a model can do, the upstream decides; but nothing else is taken for a model of texts.
    const isGuess = isOpen && !isBuiltIn(name) && !isText(endpoint);
    if (!model.endpoints.includes(endpoint) && !isGuess) {
      const can = model.endpoints.length === 0 ? 'something else' : model.endpoints.join(', ');
      throw new OpenAiRefusal('malformed', `The model ${model.id} cannot do ${endpoint}; it does ${can}`, {
        param: 'model',
      });
    }
    return model;
  }

  /** A model of the catalogue, or one that the one upstream may have, though its list does not name it. */
  named(catalogue: Catalogue, name: string): Model | undefined {
    const listed = catalogue.byId.get(name);
    if (listed !== undefined || this.source.kind !== 'upstream') return listed;
    if (isBuiltIn(name) || !MODEL_ID.test(name)) return undefined;
    this.noteMissing();
    return this.targets.buildUnlisted(namedModel(name, this.source.upstream));
  }

  /** 404, naming the models there are. */
  notFound({ models }: Catalogue, name: string): OpenAiRefusal {
    this.noteMissing();
    const shown = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
    const names = models.map(({ id }) => id).join(', ');
    return new OpenAiRefusal('not-found', `The model ${shown} does not exist. There are: ${names}`, {
      code: 'model_not_found',
      param: 'model',
    });
  }

  readonly job = {
    name: 'gateway.catalogue',
    start: async (): Promise<void> => {
      // A file with a mistake stops the start; an upstream that is away does not.
      if (this.source.kind === 'file') await this.load();
      if (this.source.kind !== 'upstream') return;
      await this.reload();
      this.timer = setInterval(() => void this.reload(), LISTING_TTL_MS);
    },
    stop: async (): Promise<void> => clearInterval(this.timer),
  };

  private load(): Promise<Catalogue> {
    this.triedAtMs = performance.now();
    this.loading ??= read(this.source)
      .then((spec) => this.use(spec))
      .finally(() => {
        this.loading = undefined;
      });
    return this.loading;
  }

  private use({ defaults, statedDefaults, ...spec }: CatalogueSpec): Catalogue {
    const models = this.targets.build(spec.models);
    this.known = {
      models,
      byId: new Map(models.map((model) => [model.id, model])),
      defaults,
      statedDefaults,
    };
    this.readAtMs = performance.now();
    this.mistake = undefined;
    return this.known;
  }

  /** A requested model that is missing from an upstream's list may be new. */
  private noteMissing(): void {
    if (this.source.kind === 'upstream' && performance.now() - this.triedAtMs > LISTING_RETRY_MS)
      void this.reload();
  }
}

/** Names of the models that can do this, in the order of the file. */
export const idsOf = ({ models }: Pick<Catalogue, 'models'>, endpoint: Endpoint): string[] =>
  models.filter(({ endpoints }) => endpoints.includes(endpoint)).map(({ id }) => id);

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
