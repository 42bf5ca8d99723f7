import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Endpoint, Translation } from './adapters/adapter.ts';
import { type GatewayRequest, parseWhole, readMember, type Splice, splice } from './request.ts';
import type { Target } from './targets.ts';
import { UntranslatableRequest } from './wire.ts';

/**
 * The body for each target: the caller's own bytes with the target's model name, and a request for usage if a stream
 * would not contain it; translated if the upstream has another protocol. Throws 400 for a request that this protocol
 * cannot express.
 */
export function createBodies(
  request: GatewayRequest,
  { endpoint, includeUsage }: { endpoint: Endpoint; includeUsage: boolean },
): (target: Target) => Uint8Array | Promise<Uint8Array> {
  return ({ model, upstream }) => {
    const translation = upstream?.adapter.translation;
    if (translation !== undefined) return translate(request, translation, model);
    const changes: Splice[] = [{ name: 'model', value: model }];
    const streams = request.stream && (endpoint === 'chat' || endpoint === 'completions');
    if (streams && !includeUsage && upstream?.spec.streamUsage === true) {
      const options = readMember(request, 'stream_options');
      const given = typeof options === 'object' && options !== null && !Array.isArray(options) ? options : {};
      changes.push({ name: 'stream_options', value: { ...given, include_usage: true } });
    }
    return splice(request, changes);
  };
}

async function translate(
  request: GatewayRequest,
  translation: Translation,
  model: string,
): Promise<Uint8Array> {
  const body = await parseWhole(request);
  try {
    return Buffer.from(JSON.stringify(translation.request(body, model)));
  } catch (error) {
    if (!(error instanceof UntranslatableRequest)) throw error;
    throw new OpenAiRefusal('malformed', error.message, { param: error.param });
  }
}
