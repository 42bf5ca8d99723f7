// The settings of the gateway.

import { choice, type Setting, TEXT, url } from '../core/settings-reader.ts';
import { bytes, duration } from '../core/settings-units.ts';

export const MODEL_SETTINGS = {
  MODELS_CONFIG: {
    kind: TEXT,
    otherwise: 'the built-in models',
    meaning: 'path of the models file; read again on SIGHUP',
  },
  OPENAI_BASE_URL: {
    kind: url('http:', 'https:'),
    otherwise: 'none',
    meaning: 'one upstream, https://host/v1, and every model that it takes',
  },
  OPENAI_API_KEY: {
    kind: TEXT,
    otherwise: 'none',
    meaning: "its key; alone it is for OpenAI's own address",
    secret: true,
  },
  OPENAI_TIMEOUT_MS: {
    kind: duration('milliseconds', 1, 86_400_000),
    default: '600000',
    meaning: 'longest time for an answer of it, in milliseconds',
  },
  OPENAI_IDLE_TIMEOUT_MS: {
    kind: duration('milliseconds', 1, 86_400_000),
    default: '300000',
    meaning: 'longest silence of a stream of it, in milliseconds',
  },
  GATEWAY_ANONYMOUS: {
    kind: choice(['true', 'false']),
    otherwise: 'true on loopback, no upstream',
    meaning: 'whether models answer requests of this machine without a key',
  },
  GATEWAY_BODY_BYTES_MAX: {
    kind: bytes(1_048_576, 268_435_456),
    default: '33554432',
    meaning: 'largest request of a model, in bytes; of embeddings at most 8 MiB',
  },
} satisfies Record<string, Setting>;
