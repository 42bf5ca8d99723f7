// Questions and answers that are compared with long texts: what one caller's cost the others.

import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../../test/support/service.ts';
import { fillStore, READS_FILES } from './fill.ts';
import type { Attempt } from './requests.ts';
import { SCRIPTS, textIn } from './scripts.ts';

const TEXTS = 'long texts';

/** Characters of a question to the documents (the most that one may have), of a message, and of the answer to it. */
const QUERY_LENGTH = 8192;
const MESSAGE_LENGTH = 4000;
const ANSWER_LENGTH = 40_000;
/** About the bytes of the passages that a question is compared with, which count with its body: a hundred are answered. */
const COMPARED_BYTES = 100_000;
/** Requests at once, of one caller. */
const TOGETHER = [1, 40];
const CHANNEL = `${WORKSPACE}/web/widget/texts`;

type Ask = (method: string, path: string, json: unknown) => Promise<Response>;

/** A service whose store is filled, with an upstream whose answers are long and have no numbers. */
export async function startTexts() {
  const questions = new Map<string, string>();
  const upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => answer(request, questions),
  });
  const service = await startService({
    environment: {
      BUN_CONFIG_MAX_HTTP_REQUESTS: '16384',
      LOG_LEVEL: 'error',
      OPENAI_BASE_URL: `${upstream.url.href}v1`,
      OPENAI_API_KEY: 'none',
      ...READS_FILES,
    },
    postgres: 'embedded',
  });
  await fillStore(service.url);
  const ask: Ask = (method, path, json) =>
    fetch(`${service.url}${path}`, {
      method,
      headers: { APIKeyHeader: BOOTSTRAP_KEY, 'svc-key': BOOTSTRAP_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    });
  const agent = { name: 'Reader', kind: 'persona', model: MODEL, knowledge: 'documents' };
  await must(ask('PUT', `/admin/api/workspaces/${WORKSPACE}/agents/reader`, agent));
  return {
    service,
    url: new URL(service.url),
    attempts: () => attemptsOf(ask, questions),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await upstream.stop(true);
    },
  };
}

const MODEL = 'reader';

async function answer(request: Request, questions: ReadonlyMap<string, string>): Promise<Response> {
  if (request.method === 'GET')
    return Response.json({ object: 'list', data: [{ id: MODEL, object: 'model' }] });
  const body = (await request.json()) as { stream?: boolean; messages: { content: unknown }[] };
  const asked = JSON.stringify(body.messages.at(-1)?.content);
  const [, content = ''] = [...questions].find(([question]) => asked.includes(question.slice(0, 200))) ?? [];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const head = { id: 'a', created: 1, model: MODEL };
  const end = { index: 0, finish_reason: 'stop' };
  if (body.stream !== true) {
    const message = { role: 'assistant', content };
    return Response.json({ ...head, object: 'chat.completion', choices: [{ ...end, message }], usage });
  }
  const delta = { role: 'assistant', content };
  const chunk = { ...head, object: 'chat.completion.chunk', choices: [{ ...end, delta }], usage };
  return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  });
}

/** Each script by each way of comparing, so many at once. */
function* attemptsOf(ask: Ask, questions: Map<string, string>): Generator<Attempt> {
  for (const script of SCRIPTS) {
    const text = textIn(script, 2 * ANSWER_LENGTH);
    const query = text.slice(1000, 1000 + QUERY_LENGTH).toWellFormed();
    const message = text.slice(2000, 2000 + MESSAGE_LENGTH).toWellFormed();
    questions.set(message, text.slice(MESSAGE_LENGTH, MESSAGE_LENGTH + ANSWER_LENGTH).toWellFormed());
    const ways: [target: string, bytes: number, send: () => Promise<number>][] = [
      [
        'POST /v1/{workspace_id}/retrieve, explained',
        Buffer.byteLength(query),
        async () =>
          statusOf(await ask('POST', `/v1/${WORKSPACE}/retrieve`, { query, limit: 100, explain: true })),
      ],
      [
        'POST /v1/vector_stores/{workspace_id}/search',
        Buffer.byteLength(query),
        async () =>
          statusOf(
            await ask('POST', `/v1/vector_stores/${WORKSPACE}/search`, { query, max_num_results: 50 }),
          ),
      ],
      ['a message that is answered from documents', Buffer.byteLength(text), () => sendMessage(ask, message)],
    ];
    for (const [target, bytes, send] of ways) {
      for (const count of TOGETHER) {
        const family = `${script.name}, ${count === 1 ? 'one' : `${count} at once`}`;
        yield {
          cell: { target, group: TEXTS, family, bytes: (bytes + COMPARED_BYTES) * count, largest: false },
          prepare: () => () => Promise.all(Array.from({ length: count }, send)),
        };
      }
    }
  }
}

async function must(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
}

async function statusOf(response: Response): Promise<number> {
  await response.arrayBuffer();
  return response.status;
}

/** In a conversation of its own. */
async function sendMessage(ask: Ask, message: string): Promise<number> {
  const session = crypto.randomUUID();
  const begun = { agi_id: 'reader', channel_session_id: session };
  await must(ask('POST', `/api/v1/chat/messages/create-chat-session/${CHANNEL}`, begun));
  const sent = { message, channel_user_message_id: 'u', channel_assistant_message_id: 'a' };
  const path = `/api/v1/chat/messages/send-message/${CHANNEL}/bychannelsession/${session}`;
  return statusOf(await ask('POST', path, sent));
}
