// The floor: a pass-through on Elysia that does nothing but pass. Prints the port that it listens on.

import { Elysia } from 'elysia';

const upstream = process.argv[2] ?? '';

const app = new Elysia().post(
  '/*',
  async ({ request, path }) => {
    const answer = await fetch(`${upstream}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer floor' },
      body: await request.arrayBuffer(),
      signal: request.signal,
    });
    const contentType = answer.headers.get('content-type') ?? '';
    return new Response(answer.body, { status: answer.status, headers: { 'content-type': contentType } });
  },
  { parse: 'none' },
);
app.listen({ port: 0, hostname: '127.0.0.1', idleTimeout: 255 });
console.log(app.server?.port);
