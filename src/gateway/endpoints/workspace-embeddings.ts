// The interface's own operation: validated as specified, with its default model. Every mistake of the caller is a 422,
// whether the schema, a built-in model or an upstream finds it.

import { Type } from '@sinclair/typebox';
import { type ValidationEntry, ValidationFailure, valueError } from '../../core/errors.ts';
import { type JsonObject, parseJson } from '../../core/json.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import { createValidator, toJsonBody } from '../../http/validation.ts';
import type { CatalogueKeeper } from '../catalogue/current.ts';
import { BODY_LIMITS } from '../limits.ts';
import type { Served } from '../model-call.ts';
import { toRequest } from '../request.ts';
import { embeddingIn } from '../schema.ts';
import type { Serve } from '../serve.ts';
import { type Catalogue, idsOf } from '../targets.ts';
import { type GatewayInput, respond, toModelCall } from './forward.ts';

export function createWorkspaceEmbeddings(deps: {
  embeddings: Serve;
  catalogue: Pick<CatalogueKeeper, 'current'>;
  shutdown: AbortSignal;
}) {
  const validate = createValidator(embeddingIn(Type.Unknown()));
  /** Throws ValidationFailure. */
  const readBody = async (request: Request, bytes: Uint8Array): Promise<JsonObject & { model: string }> => {
    const sent = await toJsonBody(request, bytes, { valuesMax: BODY_LIMITS.valuesMax, storable: false });
    const { value, entries } = validate(withList(sent), ['body']);
    const catalogue = await deps.catalogue.current();
    const model = (sent as { model?: unknown } | null)?.model;
    const mistakes = [...entries, ...(mayEmbed(catalogue, model) ? [] : explainModel(model, catalogue))];
    if (mistakes.length > 0) throw new ValidationFailure(mistakes);
    return {
      ...(value as JsonObject),
      model: (model as string | undefined) ?? catalogue.defaults.embeddings,
    };
  };
  return (input: GatewayInput): Promise<Response> =>
    respond(input, deps.shutdown, async (signal) => {
      const body = await readBody(input.request, input.bytes);
      try {
        const request = toRequest(body);
        const call = toModelCall(input, { endpoint: 'embeddings', request, signal });
        const served = await deps.embeddings(call);
        refuseMistake(served, body, await deps.catalogue.current());
        return named(served, body.model);
      } catch (error) {
        if (!(error instanceof OpenAiRefusal) || error.kind !== 'malformed') throw error;
        throw toFailure({ message: error.message, param: error.details.param }, body);
      }
    });
}

/** Throws ValidationFailure where the upstream has found a mistake of the caller. */
function refuseMistake(served: Served, body: JsonObject & { model: string }, catalogue: Catalogue): void {
  if (served.kind === 'whole' && served.status === 404 && catalogue.unlisted !== undefined)
    throw new ValidationFailure(explainModel(body.model, catalogue));
  if (served.kind !== 'whole' || (served.status !== 400 && served.status !== 422)) return;
  const { error } = parseJson(Buffer.from(served.bytes).toString()) as {
    error?: { [name: string]: unknown };
  };
  throw toFailure({ message: error?.['message'], param: error?.['param'] }, body);
}

/** The mistake at its member, if that is named and present in the request. */
function toFailure(
  { message, param }: { message: unknown; param: unknown },
  body: JsonObject,
): ValidationFailure {
  const member = typeof param === 'string' && Object.hasOwn(body, param) ? param : undefined;
  const sentence = typeof message === 'string' ? message : 'the model refused the request';
  if (member === undefined) return valueError(['body'], sentence, null);
  const input = body[member];
  // Whole batches of texts are not said again.
  return valueError(['body', member], sentence, typeof input === 'object' ? null : input);
}

/** The interface requires a model of its enumeration in the answer, whatever name the upstream uses. */
function named(served: Served, model: string): Served {
  if (served.kind !== 'whole' || served.status !== 200 || served.model === model) return served;
  // A list of vectors is large: only the name in its text is replaced. The answer was checked to be an object.
  const text = Buffer.from(served.bytes).toString('latin1');
  const name = Buffer.from(JSON.stringify(model)).toString('latin1');
  const found = text.match(/"model"\s*:\s*(?:"(?:[^"\\]|\\.)*"|null)/);
  const renamed =
    found === null
      ? text.replace('{', () => `{"model":${name},`)
      : text.replace(found[0], () => `"model":${name}`);
  return { ...served, bytes: Buffer.from(renamed, 'latin1') };
}

/** One text stands for a list of one. */
function withList(sent: unknown): unknown {
  if (typeof sent !== 'object' || sent === null || !('input' in sent)) return sent;
  return typeof sent.input === 'string' ? { ...sent, input: [sent.input] } : sent;
}

/** An upstream with a list may have models that are not in it, or that only their names say nothing of. */
const mayEmbed = (catalogue: Catalogue, model: unknown): boolean =>
  model === undefined ||
  (typeof model === 'string' &&
    (idsOf(catalogue, 'embeddings').includes(model) ||
      (catalogue.unlisted !== undefined &&
        (catalogue.byId.has(model) || catalogue.unlisted(model) !== undefined))));

/** The interface's ModelEnum: the embedding models of the catalogue. */
function explainModel(model: unknown, catalogue: Catalogue): ValidationEntry[] {
  const able = idsOf(catalogue, 'embeddings');
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
