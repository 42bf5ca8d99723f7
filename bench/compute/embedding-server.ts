// Embeddings over HTTP and nothing else: a bare route over the area, as base64 or as numbers.

import { createCompute } from '../../src/compute/index.ts';
import { silentLog } from '../../test/support/database.ts';

type Asked = { input: string[]; encoding_format?: 'base64' | 'float' };

const DIMENSIONS = 384;

const { embed, jobs } = createCompute({
  settings: { threads: Number(process.argv[2]), queueMax: 1024 },
  log: silentLog,
});
for (const job of jobs) await job.start();

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { input, encoding_format: format } = (await request.json()) as Asked;
    const vectors = await embed(input, request.signal);
    const data = input.map((_, index) => {
      const embedding =
        format === 'base64'
          ? Buffer.from(vectors.buffer, index * DIMENSIONS * 4, DIMENSIONS * 4).toString('base64')
          : [...vectors.subarray(index * DIMENSIONS, (index + 1) * DIMENSIONS)];
      return { object: 'embedding', index, embedding };
    });
    return Response.json({ object: 'list', model: 'local-multilingual-e1', data });
  },
});
process.stdout.write(`listens on ${server.url.origin}\n`);
