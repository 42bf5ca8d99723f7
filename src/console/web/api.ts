// Calls of the service. Their types are made from its OpenAPI document, so that a changed answer breaks the build.

import createClient from 'openapi-fetch';
import type { components, paths } from './api-types.d.ts';
import { fieldOf, labelOf, type Mistake, sentenceOf } from './field-names.ts';
import { endSession, isOffline } from './state.ts';
import { t } from './text.ts';

export type Schemas = components['schemas'];

/** A refusal or a failure, as a sentence for people. `fields`: the mistakes of a form by the names of its fields. */
export class CallError extends Error {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, sentence: string, fields: Record<string, string> = {}) {
    super(sentence);
    this.status = status;
    this.fields = fields;
  }
}

/** A service that does not answer is called again until it does; meanwhile the page shows a notice. */
async function callService(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    isOffline.value = true;
    throw new CallError(0, t('error.unreachable'));
  }
}

export const api = createClient<paths>({ baseUrl: location.origin, fetch: callService });

type Outcome<Data> = { data?: Data | undefined; error?: unknown; response: Response };

/** The answer of a call. Throws CallError for a refusal; a sign-in that has ended is asked for again. */
export async function answerOf<Data>(call: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await call;
  if (response.ok) return data as Data;
  if (response.status === 401) endSession();
  throw toCallError(response.status, error);
}

export function toCallError(status: number, body: unknown): CallError {
  const { detail, error } = (typeof body === 'object' && body !== null ? body : {}) as {
    detail?: string | Mistake[];
    error?: { message?: string };
  };
  if (Array.isArray(detail)) {
    const fields = Object.fromEntries(detail.map((each) => [fieldOf(each), sentenceOf(each)]));
    const lines = Object.entries(fields).map(([field, sentence]) => `${labelOf(field)}: ${sentence}`);
    return new CallError(status, lines.join('\n'), fields);
  }
  return new CallError(status, detail ?? error?.message ?? t('error.unexpected', { status }));
}
