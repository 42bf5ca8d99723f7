// Embeddings: batches beyond an upstream's limit are requested in concurrent parts, and combined.

import type { Json, JsonObject } from '../../core/json.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Settled } from '../allowance.ts';
import { type Allowances, NOTHING_USED, type Reservation } from '../allowances.ts';
import { nonsense } from '../answer.ts';
import { type CatalogueKeeper, findModel } from '../catalogue/current.ts';
import { estimateUse } from '../estimate.ts';
import { EMBEDDING_INPUTS_MAX, EMBEDDING_OPTIONS_LENGTH_MAX, EMBEDDING_PARTS_AT_ONCE } from '../limits.ts';
import type { ModelCall, Served } from '../model-call.ts';
import { countTexts, parseAnswer } from '../request.ts';
import type { Serve } from '../serve.ts';
import { TARGET_HEADER } from '../targets.ts';

/** As `serve`. Throws 400 for too many texts. A part that fails fails the whole. */
export function createServeEmbeddings({
  serve,
  allowances,
  catalogue,
}: {
  serve: Serve;
  allowances: Pick<Allowances, 'reserve'>;
  catalogue: Pick<CatalogueKeeper, 'current'>;
}): Serve {
  return async (call) => {
    const count = countTexts(call.request, 'input');
    if (count > EMBEDDING_INPUTS_MAX) {
      const details = { param: 'input', code: 'invalid_value' };
      throw new OpenAiRefusal('malformed', `'input' may hold ${EMBEDDING_INPUTS_MAX} texts at most`, details);
    }
    const present = await catalogue.current();
    const model = present.byId.get(call.request.model ?? present.statedDefaults.embeddings ?? '');
    const most = Math.min(
      ...(model?.targets ?? []).map(
        ({ target }) => target.upstream?.spec.embeddingInputsMax ?? EMBEDDING_INPUTS_MAX,
      ),
    );
    if (count <= most) return serve(call);
    const { input, ...options } = call.request.body;
    // They go with each part.
    if (JSON.stringify(options).length > EMBEDDING_OPTIONS_LENGTH_MAX)
      throw new OpenAiRefusal('malformed', "The members besides 'input' are too large");
    const models = findModel(present, call).candidates;
    const reservation = await allowances.reserve(call.caller, (recentCompletionTokens) =>
      estimateUse(call, { models, recentCompletionTokens }),
    );
    return serveParts(serve, call, { input: input as Json[], most, reservation });
  };
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
async function serveParts(
  serve: Serve,
  call: ModelCall,
  { input, most, reservation }: { input: Json[]; most: number; reservation: Reservation | undefined },
): Promise<Served> {
  const limit = createSemaphore({
    runningMax: EMBEDDING_PARTS_AT_ONCE,
    waitingMax: EMBEDDING_INPUTS_MAX,
    refuse: '',
  });
  const failing = new AbortController();
  const signal = AbortSignal.any([call.signal, failing.signal]);
  const used = { ...NOTHING_USED };
  const starts = Array.from({ length: Math.ceil(input.length / most) }, (_, part) => part * most);
  const servePart = async (start: number): Promise<Part> => {
    signal.throwIfAborted();
    const texts = input.slice(start, start + most);
    const request = call.request.with('input', texts);
    const part = { ...call, request, signal, continues: call.continues || start > 0 };
    const served = await serve(reservation ? { ...part, reservation: addingTo(used, reservation) } : part);
    if (served.kind === 'stream') {
      await served.body.cancel();
      throw nonsense(new Error('a stream of embeddings')).refusal;
    }
    if (served.status !== 200) throw new Refused(served);
    return { headers: served.headers, ...(await readPart(served.bytes, { start, count: texts.length })) };
  };
  const parts = starts.map((start) => limit.run(() => servePart(start)));
  let served: Served;
  try {
    served = putTogether(await Promise.all(parts));
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

/** The use of a part is settled with the whole. */
const addingTo = (sum: Settled, whole: Reservation): ModelCall['reservation'] => ({
  headers: () => whole.headers(),
  settle(used) {
    sum.tokens += used.tokens;
    sum.cost += used.cost;
  },
});

type Part = { headers: Record<string, string>; answer: JsonObject; rows: JsonObject[] };

/** Throws 502 for an answer that does not hold a vector for each text. */
async function readPart(
  bytes: Uint8Array,
  { start, count }: { start: number; count: number },
): Promise<Omit<Part, 'headers'>> {
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

function putTogether(parts: readonly Part[]): Served {
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
