// The examples of the gateway in the documentation.

const created = 1_763_683_200;

export const CHAT_REQUEST_EXAMPLE = {
  model: 'local-echo',
  messages: [{ role: 'user', content: 'Good morning' }],
};
export const CHAT_EXAMPLE = {
  id: 'chatcmpl-9c7f0a34-6b57-4d5e-8b0f-0f3f3a1b2c4d',
  object: 'chat.completion',
  created,
  model: 'local-echo',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Echo: Good morning', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
};
const eventsOf = (chunks: readonly object[]): string =>
  [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
const CHAT_CHUNK = {
  id: CHAT_EXAMPLE.id,
  object: 'chat.completion.chunk',
  created,
  model: CHAT_EXAMPLE.model,
};
export const CHAT_STREAM_EXAMPLE = eventsOf([
  { ...CHAT_CHUNK, choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
  { ...CHAT_CHUNK, choices: [{ index: 0, delta: { content: 'Echo: Good morning' }, finish_reason: null }] },
  { ...CHAT_CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
]);
export const COMPLETION_REQUEST_EXAMPLE = { model: 'local-echo', prompt: 'Good morning' };
export const COMPLETION_EXAMPLE = {
  id: 'cmpl-9c7f0a34-6b57-4d5e-8b0f-0f3f3a1b2c4d',
  object: 'text_completion',
  created,
  model: 'local-echo',
  choices: [{ index: 0, text: 'Echo: Good morning', logprobs: null, finish_reason: 'stop' }],
  usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
};
export const COMPLETION_STREAM_EXAMPLE = eventsOf([
  { ...COMPLETION_EXAMPLE, choices: [{ index: 0, text: 'Echo: Good morning', finish_reason: null }] },
  { ...COMPLETION_EXAMPLE, choices: [{ index: 0, text: '', finish_reason: 'stop' }] },
]);
export const IMAGE_REQUEST_EXAMPLE = { model: 'gpt-image-1', prompt: 'A lighthouse at dusk' };
export const IMAGE_EXAMPLE = { created, data: [{ url: 'https://images.example/1.png' }] };
export const EMBEDDING_REQUEST_EXAMPLE = { model: 'local-multilingual-e1', input: ['Good morning'] };
export const EMBEDDING_EXAMPLE = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.0512, -0.0311, 0.0874] }],
  model: 'local-multilingual-e1',
  usage: { prompt_tokens: 3, total_tokens: 3 },
};
export const MODEL_EXAMPLE = {
  id: 'local-echo',
  object: 'model',
  created: 0,
  owned_by: 'atrium',
  endpoints: ['chat', 'completions'],
  description: 'Built in. Repeats what it is told: for wiring and load tests, not for answers.',
};
const SUMS = {
  requests: 1204,
  errors: 5,
  estimated: 3,
  prompt_tokens: 250_112,
  completion_tokens: 48_051,
  total_tokens: 298_163,
  cost: 0.0663474,
  latency_ms: 812.4,
  latency_p50_ms: 640,
  latency_p95_ms: 1930,
  latency_p99_ms: 3140,
  first_event_ms: 231.7,
  first_event_p50_ms: 198,
  first_event_p95_ms: 512,
  first_event_p99_ms: 870,
};
export const MODEL_USAGE_EXAMPLE = {
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-11-21T10:00:00.000Z',
  group_by: 'model',
  items: [{ group: 'gpt-4o-mini', ...SUMS }],
  total: SUMS,
};
export const MODELS_STATE_EXAMPLE = {
  source: 'file',
  file: '/etc/atrium/models.yaml',
  read_at: '2026-11-21T09:00:00.000Z',
  mistake: null,
  models: [
    {
      id: 'gpt-4o-mini',
      description: null,
      owned_by: 'atrium',
      endpoints: ['chat'],
      default_of: ['chat'],
      strategy: 'weighted',
      targets: [{ target: 'main/gpt-4o-mini', weight: 1 }],
      fallbacks: [],
      price: { input_per_million: 0.15, output_per_million: 0.6 },
      cache_ttl_seconds: 0,
    },
  ],
  targets: [
    {
      target: 'main/gpt-4o-mini',
      kind: 'openai',
      base_url: 'https://models.example/v1',
      circuit: { state: 'closed', since: '2026-11-21T09:00:00.000Z' },
      resting_until: null,
      latency_ms: 231.7,
      latency_at: '2026-11-21T09:59:58.000Z',
      running: 2,
      waiting: 0,
      attempts: { ok: 1204, refused: 3, failed: 1, 'timed-out': 1, left: 12 },
      last_failure: {
        at: '2026-11-21T09:12:45.000Z',
        kind: 'upstream-timeout',
        reason: 'The upstream did not begin to answer in time',
        code: 'upstream_first_byte_timeout',
        status: null,
      },
    },
  ],
};
