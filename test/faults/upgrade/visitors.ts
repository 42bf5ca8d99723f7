// Those who only read, compute, or listen to a model for seconds: what they are answered is right or wrong at once.

import type { Client, Desk } from '../seeds/client.ts';

type Request = Parameters<Desk['call']>;

/** Answered by 200 whoever answers, and whichever version. */
const requestsOf = ({ workspace, adminKey: key }: Desk): Request[] => {
  const authorization = `Bearer ${key}`;
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const headers = { authorization, accept: 'application/json, text/event-stream' };
  return [
    ['GET', '/'],
    ['GET', '/healthz'],
    ['GET', '/docs'],
    ['GET', '/admin'],
    ['GET', '/compute', { query: { n: 20 } }],
    ['GET', '/v1/models', { headers: { authorization } }],
    ['GET', `/v1/filter/${workspace}`, { key, query: { size: 10 } }],
    ['GET', `/v1/metadata/${workspace}/folders/list`, { key }],
    ['GET', `/admin/api/workspaces/${workspace}/keys`, { key }],
    ['GET', '/admin/api/status', { key }],
    ['POST', `/v1/${workspace}/retrieve`, { key, json: { query: 'text of a document' } }],
    ['POST', '/mcp', { headers, json: ping }],
  ];
};

const worksUntilOver = async (desk: Desk, step: () => Promise<unknown>): Promise<void> => {
  while (!desk.isOver()) {
    await step();
    await desk.pause();
  }
};

const nothingKept = { settle: async () => undefined, keep: () => () => undefined, check: async () => [] };

/** Asks for a bit of everything. */
export async function createVisitor(desk: Desk): Promise<Client> {
  const requests = requestsOf(desk);
  const visit = async (): Promise<void> => {
    const request = desk.random.pick(requests);
    if (request !== undefined) await desk.attempt([200], () => desk.call(...request));
  };
  return { ...nothingKept, work: () => worksUntilOver(desk, visit) };
}

export type Listener = Client & { isListening(): boolean };

/** Reads one stream of the model after the other, each for as long as `model` takes, to its last word. */
export async function createListener(
  desk: Desk,
  { model, words }: { model: string; words: number },
): Promise<Listener> {
  let listening = false;
  const headers = { authorization: `Bearer ${desk.adminKey}` };
  const json = { model, stream: true, messages: [{ role: 'user', content: 'one two three' }] };
  const listen = async (): Promise<void> => {
    listening = true;
    const answer = await desk.attempt([200], () =>
      desk.call('POST', '/v1/chat/completions', { headers, json }),
    );
    listening = false;
    if (answer === undefined) return;
    const { text } = answer;
    const events = text
      .trimEnd()
      .split('\n\n')
      .map((event) => event.replace('data: ', ''));
    const said = events.flatMap((event) => (event.startsWith('{') ? [contentOf(event)] : [])).join('');
    if (events.at(-1) !== '[DONE]' || said.trim().split(/\s+/).length !== words)
      desk.violate('a stream ends whole', text.slice(-300));
  };
  return { ...nothingKept, isListening: () => listening, work: () => worksUntilOver(desk, listen) };
}

const contentOf = (event: string): string => {
  const { choices = [] } = JSON.parse(event) as { choices?: { delta?: { content?: string } }[] };
  return choices[0]?.delta?.content ?? '';
};
