// The models file and the limits of the keys that the benches of the gateway use.

/** Every limit, none of which is reached. */
export const LIMITS = {
  requests_per_minute: 100_000_000,
  tokens_per_minute: 2_000_000_000,
  budget_per_month: 1_000_000_000,
};

/** Models that the upstream knows by the same names. */
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
