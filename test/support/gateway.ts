// The service before a mock of the model providers, with a models file of the test's own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MockUpstream, startMockUpstream } from './mock-upstream.ts';
import { BOOTSTRAP_KEY, type RunningService, startService } from './service.ts';

export type ModelsFile = {
  upstreams: Record<string, Record<string, unknown>>;
  models: Record<string, Record<string, unknown>>;
  defaults?: Record<string, string>;
};

export type RunningGateway = AsyncDisposable & {
  /** The service's origin. */
  url: string;
  /** Has every scope. */
  key: string;
  mock: MockUpstream;
  service: RunningService;
  /** Writes the models file anew; the service reads it when it is told to. */
  writeModels(file: ModelsFile | string): void;
};

/** The key that the gateway has for its upstreams; no caller may ever read it. */
export const UPSTREAM_KEY = 'sk-upstream-key-of-the-test';

/** What the start command sets: without it there are 256 requests to upstreams at once. */
const AS_STARTED = { BUN_CONFIG_MAX_HTTP_REQUESTS: '16384' };

/** Models of the mock: `ok`, and `trickle`, whose answer takes 15 s, cost a unit of money for each token; `embed` costs nothing. */
export function pricedModels(mockUrl: string): ModelsFile {
  const price = { input_per_million: 1_000_000, output_per_million: 1_000_000 };
  const to = (model: string) => [{ upstream: 'mock', model }];
  return {
    upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
    models: {
      ok: { targets: to('ok'), price },
      trickle: { targets: to('trickle+ms=50+words=300'), price },
      embed: { endpoints: ['embeddings'], targets: to('ok+key=embed') },
    },
  };
}

/** `fileOf` is given the mock's origin. */
export async function startGateway(
  fileOf: (mockUrl: string) => ModelsFile | string,
  environment: Record<string, string> = {},
): Promise<RunningGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-models-'));
  const path = join(folder, 'models.yaml');
  const writeModels = (file: ModelsFile | string): void =>
    writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file));
  const mock = await startMockUpstream();
  try {
    writeModels(fileOf(mock.url));
    const service = await startService({
      environment: { MODELS_CONFIG: path, UPSTREAM_KEY, ...AS_STARTED, ...environment },
    });
    return {
      url: service.url,
      key: BOOTSTRAP_KEY,
      mock,
      service,
      writeModels,
      async [Symbol.asyncDispose]() {
        await service[Symbol.asyncDispose]();
        await mock.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await mock.stop();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
