// The ladder from the pass-through to the product: each rung has what the one before it has, and adds one thing.

export const RUNGS = [
  'floor',
  'whole answer',
  'router',
  'id, access line, metrics',
  'credential',
  'body, cancelling',
  'scan',
  'call, account',
  'attempt',
  'limits',
  'ledger',
] as const;
export type Rung = (typeof RUNGS)[number];

/** What each adds, for the table. */
export const ADDS: Record<Rung, string> = {
  floor: "the runtime's server and its `fetch`; the answer's body is handed on",
  'whole answer': 'the answer is read whole before it is sent',
  router: 'the routes of the product',
  'id, access line, metrics': 'the boundary: request id, one answer for each request, access line, histogram',
  credential: 'the key is found, and its scope',
  'body, cancelling': 'a bound and a time for the body; the end of the caller and of the service',
  scan: 'the members of the body, and the headers that pass',
  'call, account': 'the model, the plan of the call, its cost, its headers',
  attempt:
    'order of attempts, time-outs, circuit, a place at the upstream, the check of the answer, its usage',
  limits: 'the reservation of requests, tokens and money, and the headers of what is left',
  ledger: 'the sums on disk',
};

/** Every limit, none of which is reached. */
export const LIMITS = {
  requests_per_minute: 100_000_000,
  tokens_per_minute: 2_000_000_000,
  budget_per_month: 1_000_000_000,
};

/** Every name that the benches ask for goes on as it is: so does the trickling one. */
export const modelsFile = (upstream: string): string => `
upstreams:
  mock: { base_url: "${upstream}/v1", api_key: upstream-key }
models:
${['fast', 'trickle']
  .map(
    (name) =>
      `  ${name}: { endpoints: [chat], targets: [{ upstream: mock, model: ${name} }], price: { input_per_million: 0.15, output_per_million: 0.6 } }`,
  )
  .join('\n')}
`;
