// What the gateway's tests share: two models that must never be mistaken for each other, and the calls.

import { type ModelsFile, type RunningGateway, startGateway } from '../../support/gateway.ts';
import { type Answer, bodyOf, type Caller, createCaller, expectStatus } from '../support/caller.ts';

export type OpenAiError = { message: string; type: string; param: string | null; code: string | null };

export type GatewaySetting = AsyncDisposable & {
  gateway: RunningGateway;
  call: Caller;
  /** Sends a body as it stands, with the key, as JSON. */
  post(
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** How often the upstream was asked for what stands behind a model. */
  asked(model: ModelName): Promise<number>;
};

export const CHAT = '/v1/chat/completions';

/** Each is called otherwise at the upstream, so that a name that went through untouched shows. */
const MODELS = { right: 'ok+key=behind-right', wrong: 'ok+key=behind-wrong', embed: 'ok+key=behind-embed' };
export type ModelName = keyof typeof MODELS;

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
  models: {
    right: { endpoints: ['chat', 'completions'], targets: [{ upstream: 'mock', model: MODELS.right }] },
    wrong: { endpoints: ['chat', 'completions'], targets: [{ upstream: 'mock', model: MODELS.wrong }] },
    embed: { endpoints: ['embeddings'], targets: [{ upstream: 'mock', model: MODELS.embed }] },
  },
  defaults: { embeddings: 'embed' },
});

export const upstreamName = (model: ModelName): string => MODELS[model];

export async function startGatewaySetting(): Promise<GatewaySetting> {
  const gateway = await startGateway(modelsFile);
  const call = createCaller(gateway.url);
  return {
    gateway,
    call,
    post: (path, body, headers = {}) =>
      call('POST', path, {
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
      }),
    asked: async (model) => (await gateway.mock.state(MODELS[model].split('=')[1] ?? '')).requests,
    [Symbol.asyncDispose]: gateway[Symbol.asyncDispose],
  };
}

/** Fails unless the answer is a refusal in OpenAI's shape. */
export function expectOpenAiError(answer: Answer, status: number): OpenAiError {
  expectStatus(answer, status);
  const { error } = bodyOf<{ error: OpenAiError }>(answer, status);
  const { message, type, param, code } = error;
  if (
    typeof message !== 'string' ||
    message === '' ||
    typeof type !== 'string' ||
    param === undefined ||
    code === undefined
  )
    throw new Error(`no error of OpenAI's shape: ${answer.text}`);
  return error;
}
