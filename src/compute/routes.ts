import { Elysia } from 'elysia';
import type { Http } from '../http/http.ts';
import { answer, parameters, refusals } from '../http/input.ts';
import type { createFibonacci } from './operations/fibonacci.ts';
import { ComputeQuery, ComputeResult } from './schema.ts';

/** Who has one address of IPv6 has all with the same first half. */
function toNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const [left = [], right] = address
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = right === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(right ?? [])].slice(0, 4).join(':');
}

/** nginx's status for a disconnected client; only the log shows it. */
const CLIENT_LEFT = 499;

export const computeRoutes = ({ plugin }: Http, fibonacci: ReturnType<typeof createFibonacci>) =>
  new Elysia({ name: 'compute', tags: ['compute'] }).use(plugin).get(
    '/compute',
    async ({ query, request, state: { origin } }) => {
      try {
        const { result, ms } = await fibonacci(query.n, toNetwork(origin.address ?? ''), request.signal);
        return { n: query.n, result, duration_ms: Math.round(ms * 1000) / 1000 };
      } catch (error) {
        if (request.signal.aborted) return new Response(null, { status: CLIENT_LEFT });
        throw error;
      }
    },
    {
      work: 'model',
      noIdleTimeout: true,
      keepsAddress: true,
      query: parameters(ComputeQuery),
      response: {
        200: answer({
          description: 'The number.',
          schema: ComputeResult,
          example: { n: 42, result: '267914296', duration_ms: 512.6 },
        }),
        ...refusals(503),
      },
      detail: {
        operationId: 'compute.fibonacci',
        summary: 'Compute a Fibonacci number by naive recursion',
        description:
          'Work for a processor, that grows with n by 1.6 a step: 50 takes most of a minute. It runs beside the requests, ' +
          'in a thread, and ends when its client leaves. Addresses of clients take turns.',
      },
    },
  );
