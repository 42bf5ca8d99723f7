// What a delta of a chat completion says to the person, and why an answer said nothing. Content is a text, or a list of parts, as
// Mistral's models send it beside their reasoning.

/** Upstreams send arbitrary values. */
export type Delta = {
  content?: unknown;
  refusal?: unknown;
  reasoning?: unknown;
  reasoning_content?: unknown;
  tool_calls?: unknown;
  function_call?: unknown;
};

/** Its text, and that of a refusal, which is an answer, too. Reasoning and calls of tools are none. */
export const textOf = ({ content, refusal }: Delta): string => partsText(content) + asText(refusal);

const partsText = (content: unknown): string =>
  Array.isArray(content) ? content.map(partText).join('') : partText(content);

const TEXT_TYPES = new Set([undefined, 'text', 'output_text', 'refusal']);

function partText(part: unknown): string {
  if (typeof part !== 'object' || part === null) return asText(part);
  const { type, text, refusal } = part as { type?: string; text?: unknown; refusal?: unknown };
  return TEXT_TYPES.has(type) ? asText(text) + asText(refusal) : '';
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What an answer contained besides text. */
export type Contents = { reasoning: boolean; toolCalls: boolean };

/** Adds what the delta contains besides text. */
export function noteContents(contents: Contents, delta: Delta): void {
  const { content, reasoning, reasoning_content: reasoned, tool_calls: calls, function_call: call } = delta;
  const thinks = Array.isArray(content) && content.length > 0 && partsText(content) === '';
  contents.reasoning ||= asText(reasoning) !== '' || asText(reasoned) !== '' || thinks;
  contents.toolCalls ||= (Array.isArray(calls) && calls.length > 0) || (call ?? undefined) !== undefined;
}

/** Why an answer without text has none. */
export function reasonForNoText(finishReason: string, { reasoning, toolCalls }: Contents): string {
  if (finishReason === 'content_filter') return "The model's content filter withheld the answer";
  if (toolCalls || finishReason === 'tool_calls' || finishReason === 'function_call')
    return 'The model called a tool instead of answering';
  if (finishReason === 'length') return 'The model reached its token limit before it answered';
  if (reasoning) return 'The model returned its reasoning, but no answer';
  return 'The model returned an empty answer';
}
