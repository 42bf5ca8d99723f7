// Models that an upstream may have though its list does not name them: `llama3.2` where the list has `llama3.2:latest`.

import { type JsonObject, parseJson } from '../../core/json.ts';
import type { Answer } from '../answer.ts';
import type { Catalogue, Model } from '../targets.ts';

/** Notes that the upstream knows the name; where it does not, the refusal names the models that are listed. */
export function noteUnlisted(
  answer: Answer,
  unlisted: NonNullable<Model['unlisted']>,
  { models }: Catalogue,
): Answer {
  if (answer.kind !== 'whole' || answer.status < 400) unlisted.answered = true;
  if (answer.kind !== 'whole' || answer.status !== 404) return answer;
  const { error } = parseJson(Buffer.from(answer.bytes).toString()) as { error: JsonObject };
  const names = models.map(({ id }) => id).join(', ');
  const message = `${error['message']}. The models that are listed: ${names}`;
  return { ...answer, bytes: Buffer.from(JSON.stringify({ error: { ...error, message } })) };
}
