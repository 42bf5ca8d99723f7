// The models that can be requested, and the targets that answer them.

import { LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import {
  CONCURRENCY_DEFAULTS,
  EMBEDDING_INPUTS_MAX,
  RETRIES_DEFAULT,
  TIMEOUT_DEFAULTS_MS,
} from '../limits.ts';
import type { Endpoint } from '../request.ts';

export const UPSTREAM_KINDS = ['openai', 'azure', 'anthropic'] as const;
export type UpstreamKind = (typeof UPSTREAM_KINDS)[number];

export type Timeouts = typeof TIMEOUT_DEFAULTS_MS;

export type UpstreamSpec = {
  name: string;
  kind: UpstreamKind;
  /** Without a slash at its end. */
  baseUrl: string;
  apiKey: string | undefined;
  apiVersion: string | undefined;
  headers: Record<string, string>;
  timeoutsMs: Timeouts;
  retries: number;
  concurrency: { max: number; queue: number };
  /** Texts that it takes at once. */
  embeddingInputsMax: number;
  /** Whether it accepts the request for usage in streams (`stream_options`). */
  streamUsage: boolean;
  /** Whether callers choose its organisation and project, and read which ones answered. */
  passOrganization: boolean;
  /** The values of callers' `openai-beta` that it receives; undefined: the usual ones. */
  betas?: readonly string[] | undefined;
};

/** How an upstream is treated unless the models file says otherwise. */
export const UPSTREAM_DEFAULTS = {
  kind: 'openai' as UpstreamKind,
  apiKey: undefined,
  apiVersion: undefined,
  headers: {},
  timeoutsMs: TIMEOUT_DEFAULTS_MS,
  retries: RETRIES_DEFAULT,
  concurrency: CONCURRENCY_DEFAULTS,
  embeddingInputsMax: EMBEDDING_INPUTS_MAX,
  streamUsage: true,
  passOrganization: false,
};

/** `upstream` absent: a model that is built in. */
export type TargetSpec = { upstream: UpstreamSpec | undefined; model: string; weight: number };

/** Units of money for a million tokens. */
export type Price = {
  inputPerMillion: number;
  outputPerMillion: number;
  /** Of tokens of the prompt that the upstream reads from its cache, or writes to it; absent: as the others. */
  cacheReadPerMillion?: number | undefined;
  cacheWritePerMillion?: number | undefined;
  /** Of a picture, by size, quality, `quality size` or `default`. */
  perImage?: ReadonlyMap<string, number> | undefined;
};

export type ModelSpec = {
  id: string;
  endpoints: readonly Endpoint[];
  strategy: 'weighted' | 'latency';
  targets: readonly TargetSpec[];
  fallbacks: readonly string[];
  price: Price | undefined;
  /** 0: answers are not kept. */
  cacheTtlSeconds: number;
  /** Seconds since 1970. */
  created: number;
  ownedBy: string;
  description: string | undefined;
};

export type CatalogueSpec = {
  models: readonly ModelSpec[];
  /** Of conversations and of workspaces' embeddings, which have one wherever there is a model. */
  defaults: { chat: string | undefined; embeddings: string };
  /** The default models of the models file: they answer requests that name no model. */
  statedDefaults: Partial<Record<Endpoint, string>>;
};

/** Answers of its own: deterministic, for wiring and load tests. */
export const LOCAL_CHAT_MODEL = 'local-echo';

export const ENDPOINTS = ['chat', 'completions', 'embeddings', 'images'] as const;

const BUILT_IN: Record<string, Pick<ModelSpec, 'endpoints' | 'description'>> = {
  [LOCAL_CHAT_MODEL]: {
    endpoints: ['chat', 'completions'],
    description: 'Built in. Repeats what it is told: for wiring and load tests, not for answers.',
  },
  [LOCAL_EMBEDDING_MODEL.id]: {
    endpoints: ['embeddings'],
    description:
      'Built in. Character n-gram hashing, 384 dimensions: finds texts that share spelling (lexical), not meaning.',
  },
};

/** Names stand in URLs, logs and error messages. */
export const MODEL_ID = /^[\x21-\x7e]{1,256}$/;

export const isBuiltIn = (id: string): boolean => Object.hasOwn(BUILT_IN, id);

export function builtInModel(id: string): ModelSpec {
  const known = BUILT_IN[id];
  if (known === undefined) throw new Error(`${id} is not built in`);
  return {
    id,
    ...known,
    strategy: 'weighted',
    targets: [{ upstream: undefined, model: id, weight: 1 }],
    fallbacks: [],
    price: undefined,
    cacheTtlSeconds: 0,
    created: 0,
    ownedBy: 'atrium',
  };
}

export const BUILT_IN_CATALOGUE: CatalogueSpec = {
  models: [builtInModel(LOCAL_CHAT_MODEL), builtInModel(LOCAL_EMBEDDING_MODEL.id)],
  defaults: { chat: LOCAL_CHAT_MODEL, embeddings: LOCAL_EMBEDDING_MODEL.id },
  statedDefaults: {},
};

/** A mistake in the models file: the line and the reason, in one sentence. */
export class FileMistake extends Error {
  readonly line: number;

  constructor(line: number, reason: string) {
    super(`line ${line}: ${reason}`);
    this.line = line;
  }
}

export type ReadVariable = (name: string) => string | undefined;
