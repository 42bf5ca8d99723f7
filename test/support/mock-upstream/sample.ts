// A value that a JSON schema allows, always the same: what the mock gives as arguments of tools and structured output.

type Schema = { [key: string]: unknown };

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

export function sampleOf(schema: unknown, root: unknown = schema): unknown {
  if (!isSchema(schema)) return null;
  if ('const' in schema) return schema['const'];
  const { enum: values, anyOf, $ref: reference, properties, items } = schema;
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(anyOf)) return sampleOf(anyOf[0], root);
  if (typeof reference === 'string') return sampleOf(resolve(reference, root), root);
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (type === 'string') return 'Paris';
  if (type === 'integer') return 7;
  if (type === 'number') return 1.5;
  if (type === 'boolean') return true;
  if (type === 'array') return [sampleOf(items, root)];
  if (type !== 'object' && !isSchema(properties)) return null;
  const entries = Object.entries(isSchema(properties) ? properties : {});
  return Object.fromEntries(entries.map(([name, property]) => [name, sampleOf(property, root)]));
}

function resolve(reference: string, root: unknown): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce((found: unknown, step) => (isSchema(found) ? found[step] : undefined), root);
}
