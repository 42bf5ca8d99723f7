// The interface's own operation: validated as specified, with its default model. Every mistake of the caller is a 422,
// whether the schema, a built-in model or an upstream finds it.

import { Type } from '@sinclair/typebox';
import { type ValidationEntry, ValidationFailure, valueError } from '../core/errors.ts';
import { type JsonObject, parseJson } from '../core/json.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { createValidator, toJsonBody } from '../http/validation.ts';
import { type Catalogue, type CatalogueKeeper, idsOf } from './catalogue/current.ts';
import type { Arrival, Entry } from './entry.ts';
import { BODY_LIMITS } from './limits.ts';
import type { Served } from './model-call.ts';
import { toRequest } from './request.ts';
import { embeddingIn } from './schema.ts';

export class WorkspaceEmbeddings {
  private readonly entry: Entry;
  private readonly catalogue: CatalogueKeeper;
  private readonly validate = createValidator(embeddingIn(Type.Unknown()));

  constructor(entry: Entry, catalogue: CatalogueKeeper) {
    this.entry = entry;
    this.catalogue = catalogue;
  }

  /** Throws ValidationFailure, and OpenAiRefusal where the caller is not at fault. */
  answer(arrival: Arrival): Promise<Response> {
    return this.entry.respond(arrival, async (signal) => {
      const body = await this.readBody(arrival);
      try {
        const request = toRequest(body);
        const served = await this.entry.serve(arrival, { endpoint: 'embeddings', request, signal });
        await this.refuseMistake(served, body);
        return named(served, body.model);
      } catch (error) {
        if (!(error instanceof OpenAiRefusal) || error.kind !== 'malformed') throw error;
        throw toFailure({ message: error.message, param: error.details.param }, body);
      }
    });
  }

  private async readBody({ request, body }: Arrival): Promise<JsonObject & { model: string }> {
    const sent = await toJsonBody(request, body, { valuesMax: BODY_LIMITS.valuesMax, storable: false });
    const { value, entries } = this.validate(withList(sent), ['body']);
    const catalogue = await this.catalogue.current();
    const model = (sent as { model?: unknown } | null)?.model;
    const mistakes = [...entries, ...(this.mayEmbed(catalogue, model) ? [] : [wrongModel(model, catalogue)])];
    if (mistakes.length > 0) throw new ValidationFailure(mistakes);
    const { embeddings } = catalogue.defaults;
    return { ...(value as JsonObject), model: (model as string | undefined) ?? embeddings };
  }

  /** An upstream with a list may have models that are not in it, or that only their names say nothing of. */
  private mayEmbed(catalogue: Catalogue, model: unknown): boolean {
    if (model === undefined) return true;
    if (typeof model !== 'string') return false;
    if (idsOf(catalogue, 'embeddings').includes(model)) return true;
    return this.catalogue.source.kind === 'upstream' && this.catalogue.named(catalogue, model) !== undefined;
  }

  /** Throws ValidationFailure where the upstream has found a mistake of the caller. */
  private async refuseMistake(served: Served, body: JsonObject & { model: string }): Promise<void> {
    if (served.kind !== 'whole') return;
    if (served.status === 404 && this.catalogue.source.kind === 'upstream')
      throw new ValidationFailure([wrongModel(body.model, await this.catalogue.current())]);
    if (served.status !== 400 && served.status !== 422) return;
    const { error } = parseJson(Buffer.from(served.bytes).toString()) as { error?: JsonObject };
    throw toFailure({ message: error?.['message'], param: error?.['param'] }, body);
  }
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

/** The interface's ModelEnum: the embedding models of the catalogue. */
function wrongModel(model: unknown, catalogue: Catalogue): ValidationEntry {
  const quoted = idsOf(catalogue, 'embeddings').map((each) => `'${each}'`);
  const expected =
    quoted.length < 2 ? quoted.join() : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return {
    type: 'enum',
    loc: ['body', 'model'],
    msg: `Input should be ${expected}`,
    input: model,
    ctx: { expected },
  };
}
