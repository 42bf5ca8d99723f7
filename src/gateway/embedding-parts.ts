// A batch of embeddings beyond an upstream's limit: requested in concurrent parts, and combined.

import type { Json, JsonObject } from '../core/json.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Settled } from './allowance.ts';
import { NOTHING_USED } from './allowances.ts';
import { nonsense } from './answer.ts';
import { EMBEDDING_INPUTS_MAX, EMBEDDING_OPTIONS_LENGTH_MAX, EMBEDDING_PARTS_AT_ONCE } from './limits.ts';
import type { ModelCall, Served } from './model-call.ts';
import { GatewayRequest, parseAnswer } from './request.ts';
import { type Model, TARGET_HEADER } from './targets.ts';

/** The texts that a part of the call may have; undefined where it goes on whole. Throws 400 for a call that cannot be served. */
export function partSizeOf({ request }: ModelCall, { targets }: Model): number | undefined {
  const count = request.countTexts('input');
  if (count > EMBEDDING_INPUTS_MAX)
    throw new OpenAiRefusal('malformed', `'input' may hold ${EMBEDDING_INPUTS_MAX} texts at most`, {
      param: 'input',
      code: 'invalid_value',
    });
  const most = Math.min(
    ...targets.map(({ target }) => target.upstream?.spec.embeddingInputsMax ?? EMBEDDING_INPUTS_MAX),
  );
  if (count <= most) return undefined;
  const { input: _, ...options } = request.body;
  // They go with each part.
  if (JSON.stringify(options).length > EMBEDDING_OPTIONS_LENGTH_MAX)
    throw new OpenAiRefusal('malformed', "The members besides 'input' are too large");
  return most;
}

/** An answer that is none: the whole is answered with it. */
class Refused extends Error {
  readonly served: Served;

  constructor(served: Served) {
    super('a part was refused');
    this.served = served;
  }
}

/** One request for limits and accounts. If one part fails, the parts that still run are cancelled. */
export async function serveParts(
  serve: (call: ModelCall) => Promise<Served>,
  call: ModelCall,
  { size, reservation }: { size: number; reservation: ModelCall['reservation'] },
): Promise<Served> {
  const limit = createSemaphore({
    runningMax: EMBEDDING_PARTS_AT_ONCE,
    waitingMax: EMBEDDING_INPUTS_MAX,
    refuse: '',
  });
  const failing = new AbortController();
  const signal = AbortSignal.any([call.signal, failing.signal]);
  const input = call.request.body['input'] as Json[];
  const used: Settled = { ...NOTHING_USED };
  // The use of a part is settled with the whole.
  const shared: ModelCall['reservation'] = reservation && {
    headers: () => reservation.headers(),
    settle({ tokens, cost }) {
      used.tokens += tokens;
      used.cost += cost;
    },
  };
  const servePart = async (start: number): Promise<Part> => {
    signal.throwIfAborted();
    const texts = input.slice(start, start + size);
    const request = new GatewayRequest({ ...call.request.body, input: texts });
    const continues = call.continues === true || start > 0;
    const served = await serve({ ...call, request, signal, continues, reservation: shared });
    if (served.kind === 'stream') {
      await served.body.cancel();
      throw nonsense(new Error('a stream of embeddings')).refusal;
    }
    if (served.status !== 200) throw new Refused(served);
    return { headers: served.headers, ...(await readPart(served.bytes, start, texts.length)) };
  };
  const starts = Array.from({ length: Math.ceil(input.length / size) }, (_, part) => part * size);
  const parts = starts.map((start) => limit.run(() => servePart(start)));
  let served: Served;
  try {
    served = combine(await Promise.all(parts));
  } catch (error) {
    failing.abort(error);
    if (!(error instanceof Refused)) throw error;
    served = error.served;
  } finally {
    // Cancelled parts have used tokens, too.
    await Promise.allSettled(parts);
    reservation?.settle(used);
  }
  return { ...served, headers: { ...served.headers, ...reservation?.headers() } };
}

type Part = { headers: Record<string, string>; answer: JsonObject; rows: JsonObject[] };

/** Throws 502 for an answer that does not hold a vector for each text. */
async function readPart(bytes: Uint8Array, start: number, count: number): Promise<Omit<Part, 'headers'>> {
  const rows: JsonObject[] = [];
  let answer: JsonObject = {};
  try {
    answer = await parseAnswer(bytes);
    for (const [position, row] of (answer['data'] as JsonObject[]).entries()) {
      const index = Number(row['index'] ?? position);
      rows[index] = { ...row, index: start + index };
    }
  } catch (error) {
    throw nonsense(error).refusal;
  }
  if (rows.length !== count || rows.includes(undefined as unknown as JsonObject)) throw nonsense().refusal;
  return { answer, rows };
}

function combine(parts: readonly Part[]): Served {
  const usage = { prompt_tokens: 0, total_tokens: 0 };
  for (const { answer } of parts) {
    const told = answer['usage'] as Partial<typeof usage> | null | undefined;
    usage.prompt_tokens += told?.prompt_tokens ?? 0;
    usage.total_tokens += told?.total_tokens ?? 0;
  }
  const data = parts.flatMap(({ rows }) => rows);
  const answerers = [...new Set(parts.map(({ headers }) => headers[TARGET_HEADER]))].join(', ');
  return {
    kind: 'whole',
    status: 200,
    headers: { ...parts[0]?.headers, [TARGET_HEADER]: answerers },
    bytes: Buffer.from(JSON.stringify({ ...parts[0]?.answer, data, usage })),
  };
}
