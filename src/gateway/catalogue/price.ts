import type { Located } from './located-yaml.ts';
import type { Price } from './model.ts';

const AMOUNT = { minimum: 0, maximum: 1e9 };
const MEMBERS = [
  'input_per_million',
  'output_per_million',
  'cache_read_per_million',
  'cache_write_per_million',
  'per_image',
];

/** The price of a model; `0`: it costs nothing. Undefined where nothing is stated. */
export function readPrice(value: Located | undefined): Price | undefined {
  if (value === undefined) return undefined;
  if (!value.isMapping()) {
    value.number({ minimum: 0, maximum: 0 });
    return { inputPerMillion: 0, outputPerMillion: 0 };
  }
  const price = value.members(MEMBERS);
  if (Object.keys(price).length === 0) return undefined;
  const amount = (name: string): number | undefined => price[name]?.number(AMOUNT);
  return {
    inputPerMillion: amount('input_per_million') ?? 0,
    outputPerMillion: amount('output_per_million') ?? 0,
    cacheReadPerMillion: amount('cache_read_per_million'),
    cacheWritePerMillion: amount('cache_write_per_million'),
    perImage: readPerImage(price['per_image']),
  };
}

function readPerImage(value: Located | undefined): Price['perImage'] {
  if (value === undefined) return undefined;
  if (!value.isMapping()) return new Map([['default', value.number(AMOUNT)]]);
  const prices = new Map(value.entries().map(([name, each]) => [name, each.number(AMOUNT)]));
  return prices.size === 0 ? value.fail('must name at least one price') : prices;
}
