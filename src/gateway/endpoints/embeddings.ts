// Embeddings: batches that are larger than an upstream takes are asked for in parts, side by side, and put together.

import { createConcurrencyLimit } from '../../core/concurrency-limit.ts';
import { type ValidationEntry, ValidationFailure } from '../../core/errors.ts';
import { readDecodedBody } from '../../http/body.ts';
import { toJsonBody } from '../../http/json-body.ts';
import { createValidator } from '../../http/validation.ts';
import type { Settled } from '../allowance.ts';
import { NOTHING_USED, type Reservation } from '../allowances.ts';
import { nonsense } from '../answer.ts';
import type { Reserve } from '../estimate.ts';
import { findModel } from '../find-model.ts';
import {
  EMBEDDING_INPUTS_MAX,
  EMBEDDING_PARTS_AT_ONCE,
  REQUEST_BYTES_MAX,
  REQUEST_LIMITS,
} from '../limits.ts';
import type { Caller, ModelCall, Served } from '../model-call.ts';
import { parseWhole, readLargeMember, readRequest, splice } from '../request.ts';
import { scanObject } from '../scan.ts';
import { EmbeddingInSchema } from '../schema.ts';
import type { Serve } from '../serve.ts';
import type { Catalogue } from '../targets.ts';
import type { Json, JsonObject } from '../wire.ts';
import { gone, toModelCall, toResponse } from './exchange.ts';

export type ServeEmbeddings = (call: ModelCall) => Promise<Served>;

type CurrentCatalogue = () => Catalogue | Promise<Catalogue>;

/** As `serve`. A part that fails fails the whole. */
export function createServeEmbeddings({
  serve,
  reserve,
  catalogue,
}: {
  serve: Serve;
  reserve: Reserve;
  catalogue: CurrentCatalogue;
}): ServeEmbeddings {
  return async (call) => {
    const present = await catalogue();
    const model = present.find(call.request.model ?? '');
    const most = Math.min(
      ...(model?.targets ?? []).map(
        ({ target }) => target.upstream?.spec.embeddingInputsMax ?? EMBEDDING_INPUTS_MAX,
      ),
    );
    if (most >= EMBEDDING_INPUTS_MAX) return serve(call);
    const input = await readLargeMember(call.request, 'input');
    if (!Array.isArray(input) || input.length <= most || input.every((each) => typeof each === 'number'))
      return serve(call);
    const reservation = await reserve(call, { catalogue: present, model: findModel(present, call) });
    return serveParts(serve, call, { input, most, reservation });
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

/** One request to limits and accounts. A part that fails ends those that still run. */
async function serveParts(
  serve: Serve,
  call: ModelCall,
  { input, most, reservation }: { input: Json[]; most: number; reservation: Reservation },
): Promise<Served> {
  const limit = createConcurrencyLimit({
    runningMax: EMBEDDING_PARTS_AT_ONCE,
    waitingMax: EMBEDDING_INPUTS_MAX,
    refusal: '',
  });
  const ending = new AbortController();
  const signal = AbortSignal.any([call.signal, ending.signal]);
  const used = { ...NOTHING_USED };
  const starts = Array.from({ length: Math.ceil(input.length / most) }, (_, part) => part * most);
  const ask = async (start: number): Promise<Part> => {
    signal.throwIfAborted();
    const texts = input.slice(start, start + most);
    const request = readRequest(splice(call.request, [{ name: 'input', value: texts }]));
    const part = { ...call, request, signal, continues: call.continues || start > 0 };
    const served = await serve({ ...part, reservation: addingTo(used, reservation) });
    if (served.kind !== 'whole' || served.status !== 200) throw new Refused(served);
    return { headers: served.headers, ...(await readPart(served.bytes, { start, count: texts.length })) };
  };
  const parts = starts.map((start) => limit.run(() => ask(start)));
  let served: Served;
  try {
    served = putTogether(await Promise.all(parts));
  } catch (error) {
    ending.abort(error);
    if (!(error instanceof Refused)) throw error;
    served = error.served;
  } finally {
    // Those that were cancelled have used something, too.
    await Promise.allSettled(parts);
    reservation.settle(used);
  }
  return { ...served, headers: { ...served.headers, ...reservation.headers() } };
}

/** What a part has used is settled with the whole. */
const addingTo = (sum: Settled, { headers }: Reservation): Reservation => ({
  headers,
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
    answer = await parseWhole({ bytes });
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
  return {
    ...{ kind: 'whole', status: 200, headers: parts[0]?.headers ?? {} },
    bytes: Buffer.from(JSON.stringify({ ...parts[0]?.answer, data, usage })),
  };
}

/** The interface's own operation: validated as it says, with its default model. */
export function createWorkspaceEmbeddings(deps: {
  embeddings: ServeEmbeddings;
  catalogue: CurrentCatalogue;
}) {
  const validate = createValidator(EmbeddingInSchema);
  return async ({ request, principal }: { request: Request; principal: Caller }): Promise<Response> => {
    const bytes = await readDecodedBody(request, REQUEST_BYTES_MAX);
    const sent = await toJsonBody(request, bytes, { valuesMax: REQUEST_LIMITS.valuesMax, storable: false });
    const { value, entries } = validate(withList(sent), ['body']);
    const catalogue = await deps.catalogue();
    const able = catalogue.models
      .filter(({ endpoints }) => endpoints.includes('embeddings'))
      .map(({ id }) => id);
    const model = (sent as { model?: unknown } | null)?.model;
    const mistakes = [...entries, ...explainModel(model, able)];
    if (mistakes.length > 0) throw new ValidationFailure(mistakes);
    const body = {
      ...(value as JsonObject),
      model: (model as string | undefined) ?? catalogue.defaults.embeddings,
    };
    const call = toModelCall('embeddings', {
      request,
      principal,
      body: readRequest(Buffer.from(JSON.stringify(body))),
    });
    try {
      return toResponse(named(await deps.embeddings(call), body.model));
    } catch (error) {
      if (request.signal.aborted) return gone();
      throw error;
    }
  };
}

/** The interface has the answer name a model of its enumeration, whatever the upstream calls it. */
function named(served: Served, model: string): Served {
  if (served.kind !== 'whole' || served.status !== 200) return served;
  const members = scanObject(served.bytes);
  if (typeof members === 'string') return served;
  return { ...served, bytes: splice({ bytes: served.bytes, members }, [{ name: 'model', value: model }]) };
}

/** One text stands for a list of one. */
function withList(sent: unknown): unknown {
  if (typeof sent !== 'object' || sent === null || !('input' in sent)) return sent;
  return typeof sent.input === 'string' ? { ...sent, input: [sent.input] } : sent;
}

/** The interface's ModelEnum: the embedding models of the catalogue. */
function explainModel(model: unknown, able: readonly string[]): ValidationEntry[] {
  if (model === undefined || (typeof model === 'string' && able.includes(model))) return [];
  const quoted = able.map((each) => `'${each}'`);
  const expected =
    quoted.length < 2 ? quoted.join() : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return [
    {
      type: 'enum',
      loc: ['body', 'model'],
      msg: `Input should be ${expected}`,
      input: model,
      ctx: { expected },
    },
  ];
}
