// A model provider for load: a process that answers each chat with the text of its last message, whole or as a stream.

type Message = { role: string; content: string };
type Asked = { model: string; messages: Message[]; stream?: boolean };

const encode = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

const usageOf = (text: string) => {
  const tokens = text.split(/\s+/).length;
  return { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: 2 * tokens };
};

function streamOf(text: string, model: string): string {
  const chunk = (delta: object, finish_reason: string | null) =>
    encode({
      id: 'echo',
      object: 'chat.completion.chunk',
      created: 1,
      model,
      choices: [{ index: 0, delta, finish_reason }],
    });
  const words = text.match(/\S+\s*/g) ?? [];
  const usage = encode({
    id: 'echo',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [],
    usage: usageOf(text),
  });
  const body = words.map((content) => chunk({ content }, null)).join('');
  return `${chunk({ role: 'assistant', content: '' }, null)}${body}${chunk({}, 'stop')}${usage}data: [DONE]\n\n`;
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname !== '/v1/chat/completions') return Response.json({ object: 'list', data: [] });
    const { model, messages, stream } = (await request.json()) as Asked;
    const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    if (stream === true)
      return new Response(streamOf(content, model), { headers: { 'content-type': 'text/event-stream' } });
    return Response.json({
      id: 'echo',
      object: 'chat.completion',
      created: 1,
      model,
      usage: usageOf(content),
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    });
  },
});
console.log(`listens on http://127.0.0.1:${server.port} `);

export {};
