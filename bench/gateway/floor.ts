// The floor: a pass-through that does nothing but pass. Prints the port that it listens on.

const upstream = process.argv[2] ?? '';

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 255,
  async fetch(request) {
    const answer = await fetch(`${upstream}${new URL(request.url).pathname}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer floor' },
      body: await request.arrayBuffer(),
      signal: request.signal,
    });
    const contentType = answer.headers.get('content-type') ?? '';
    return new Response(answer.body, { status: answer.status, headers: { 'content-type': contentType } });
  },
});
console.log(server.port);
