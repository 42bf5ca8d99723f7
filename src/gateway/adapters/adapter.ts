// The interface of an upstream's own protocol. A new one needs a file here, and its line in `adapters/index.ts`.

import type { JsonObject } from '../../core/json.ts';
import type { StreamEvent } from '../events.ts';
import type { Endpoint } from '../request.ts';
import type { StreamMeter, Usage } from '../usage.ts';

export type { Endpoint };

export type AdapterRequest = {
  endpoint: Endpoint;
  /** Without a slash at its end. */
  baseUrl: string;
  apiKey: string | undefined;
  apiVersion: string | undefined;
  /** The upstream's own name of it. */
  model: string;
};

export type Adapter = {
  /** Endpoints that it can ask. */
  endpoints: readonly Endpoint[];
  target(request: AdapterRequest): { url: string; headers: Record<string, string> };
  /** Absent where bodies and answers are OpenAI's as they stand. */
  translation?: Translation;
};

/** Both ways between OpenAI's chat completions and an upstream's own. Pure. */
export type Translation = {
  /** The upstream's body. Throws `UntranslatableRequest` for an unsupported request, naming the field. */
  request(body: JsonObject, model: string): JsonObject;
  /** OpenAI's whole answer; `model` is the caller's name of it. Throws for an invalid answer. */
  response(answer: unknown, context: { model: string; created: number }): JsonObject;
  /** The use that a whole answer tells; undefined where it tells none. */
  usage(answer: unknown): Usage | undefined;
  /** A state of one stream; each event of the upstream gives any number of OpenAI's chunks. */
  stream(context: { model: string; created: number; includeUsage: boolean }): StreamTranslation;
  /** OpenAI's error for the upstream's one: its sentence, type and code. */
  error(
    status: number,
    answer: unknown,
  ): { message: string; type: string; code: string | null; param: string | null };
};

export type StreamTranslation = {
  /** Chunks (objects of `chat.completion.chunk`, or `{error}`); throws for an event that makes no sense. */
  event(event: StreamEvent): JsonObject[];
  /** True once the upstream has said that its answer is complete: then `[DONE]` follows. */
  done(): boolean;
  /** The use so far, thoughts included. */
  meter: StreamMeter;
};

/** A body that an upstream's protocol has no words for; answered as 400 with OpenAI's error. */
export class UntranslatableRequest extends Error {
  readonly param: string;

  constructor(param: string, sentence: string) {
    super(sentence);
    this.name = 'UntranslatableRequest';
    this.param = param;
  }
}
