// An upstream with OpenAI's chat completions that answers what a test writes, delta by delta: for what no honest model can be
// made to say. It is a fake, and runs in the process of the test.

type Message = { role: string; content: string };
/** The deltas of an answer to these messages. */
export type Script = (messages: readonly Message[]) => readonly string[] | Promise<readonly string[]>;

export type ScriptedModel = AsyncDisposable & {
  /** A models file with it as the default, named `scripted`. */
  modelsFile: string;
  /** The messages of each request, in order. */
  asked: Message[][];
  /** The headers of each request, in order. */
  headers: Headers[];
  /** From now on it answers by this script. */
  play(script: Script): void;
};

export function startScriptedModel(): ScriptedModel {
  const asked: Message[][] = [];
  const headers: Headers[] = [];
  let script: Script = () => ['Nothing was written for this.'];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { messages } = (await request.json()) as { messages: Message[] };
      asked.push(messages);
      headers.push(request.headers);
      const deltas = await script(messages);
      const chunk = (choice: unknown) =>
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [choice] })}\n\n`;
      const events = [
        ...deltas.map((content) => chunk({ index: 0, delta: { content }, finish_reason: null })),
        chunk({ index: 0, delta: {}, finish_reason: 'stop' }),
        'data: [DONE]\n\n',
      ];
      return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  return {
    modelsFile: JSON.stringify({
      upstreams: { scripted: { base_url: `http://127.0.0.1:${server.port}/v1`, retries: 0 } },
      models: { scripted: { targets: [{ upstream: 'scripted', model: 'scripted' }] } },
    }),
    asked,
    headers,
    play(next) {
      script = next;
    },
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

export type ShownDocument = { number: number; name: string; page: number | null; text: string };

/** The numbered documents that a model is shown; none where it is shown none. */
export function documentsIn(messages: readonly Message[]): ShownDocument[] {
  const block = messages.findLast(({ content }) => content.startsWith('<documents-'))?.content ?? '';
  const shown = block.matchAll(
    /<document number="(\d+)" name="([^"]*)"(?: page="(\d+)")?[^>]*>\n([^<]*)\n<\/document>/g,
  );
  return [...shown].map(([, number, name = '', page, text = '']) => ({
    number: Number(number),
    name,
    page: page === undefined ? null : Number(page),
    text,
  }));
}
