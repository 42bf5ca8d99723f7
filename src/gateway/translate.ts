// Answers of upstreams that do not speak OpenAI's protocol, as OpenAI's.

import { isObject, parseJson } from '../core/json.ts';
import type { StreamTranslation, Translation } from './adapters/adapter.ts';
import { AttemptFailure, isErrorObject, nonsense } from './answer.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { DONE, type EventBlock, toBlock, toEvent } from './events.ts';
import { readError, toldFailure } from './upstream-error.ts';
import type { Usage } from './usage.ts';

const utf8 = new TextDecoder();

/** Throws AttemptFailure for an answer that makes no sense, or tells of a failure. */
export function translateWhole(
  translation: Translation,
  bytes: Uint8Array,
  { spec, model }: { spec: UpstreamSpec; model: string },
): { bytes: Uint8Array; usage: Usage | undefined } {
  try {
    const answer = parseJson(utf8.decode(bytes));
    if (isObject(answer) && isErrorObject(answer))
      throw toldFailure(readError(bytes, 502, { spec, explain: translation.error }));
    const created = Math.floor(Date.now() / 1000);
    const translated = Buffer.from(JSON.stringify(translation.response(answer, { model, created })));
    return { bytes: translated, usage: translation.usage(answer) };
  } catch (error) {
    throw error instanceof AttemptFailure ? error : nonsense(error);
  }
}

/** Blocks of OpenAI's chunks; the end is marked where the upstream has come to its own. */
export async function* translateBlocks(
  blocks: AsyncIterable<EventBlock>,
  translation: StreamTranslation,
): AsyncGenerator<EventBlock, undefined> {
  let marked = false;
  for await (const { events } of blocks) {
    let text = '';
    for (const event of events) for (const chunk of translation.event(event)) text += toEvent(chunk);
    if (translation.done() && !marked) {
      marked = true;
      text += DONE;
    }
    if (text !== '') yield toBlock(Buffer.from(text));
  }
}
