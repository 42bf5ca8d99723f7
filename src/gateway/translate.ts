// Answers of upstreams that do not speak OpenAI's protocol, as OpenAI's.

import { isObject, parseJson } from '../core/json.ts';
import type { StreamTranslation, Translation } from './adapters/adapter.ts';
import { AttemptFailure, nonsense, toldFailure } from './answer.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { DONE, type EventBlocks, toBlock, toEvent } from './events.ts';
import { isErrorObject, readError } from './upstream-error.ts';
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
export function translateBlocks(blocks: EventBlocks, translation: StreamTranslation): EventBlocks {
  let marked = false;
  return {
    async next() {
      for (;;) {
        const block = await blocks.next();
        if (block === undefined) return undefined;
        let text = '';
        for (const event of block.events)
          for (const chunk of translation.event(event)) text += toEvent(chunk);
        if (translation.done() && !marked) {
          marked = true;
          text += DONE;
        }
        if (text !== '') return toBlock(Buffer.from(text));
      }
    },
    cancel: blocks.cancel,
  };
}
