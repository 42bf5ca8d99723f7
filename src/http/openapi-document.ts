// The OpenAPI 3.1 document of the whole interface (its schemas are JSON Schema 2020-12).

import { SECURITY_SCHEMES } from './credentials.ts';
import { type SchemaComponents, toOpenApiOperation } from './openapi.ts';
import type { Operation } from './routes.ts';
import { toTags } from './tags.ts';

const DESCRIPTION = `Documents, models, conversations, bots and usage events for an organisation’s AI applications, in one self-hosted service.

**Begin here.** Press *Authorize* and paste an API key: where nothing is configured the first start makes one, which stays in the file \`first-key\` of the data folder. Then open an operation, press *Try it out* and *Execute*. Programs read the same description at [/docs/json](/docs/json).

**Keys.** One kind of key serves every area; each operation says which scope the key needs and where it is sent. A key belongs to one workspace, the \`workspace_id\` of the paths. The key is checked before the body is read: a request whose key is absent, unknown or not allowed is answered with that, whatever its body holds.

**Errors.** A request that fails validation is answered 422 with every mistake at once, other refusals with one sentence in \`detail\`; the operations that follow the API of OpenAI answer errors in its shape. Where a backing service is away the answer is 503 with \`Retry-After\`. While the service ends, every operation but the probes answers 503. A method that a path does not have is answered 405. Every answer has the header \`x-request-id\`, under which the service’s log knows the request.`;

export const documentInfo = (version: string) => ({
  openapi: '3.1.0',
  info: { title: 'Atrium', version, description: DESCRIPTION },
});

/** The operations and the schemas that they name, as they are now: examples and choices may depend on the configuration. */
export function describeOperations(operations: readonly Operation[]) {
  const schemas: SchemaComponents = {};
  const paths: Record<string, Record<string, object>> = {};
  const described = operations.filter(({ isHidden }) => !isHidden);
  for (const operation of described) {
    paths[operation.path] ??= {};
    Object.assign(paths[operation.path] as object, {
      [operation.method.toLowerCase()]: toOpenApiOperation(operation, schemas),
    });
  }
  return {
    tags: toTags(new Set(described.map(({ area }) => area))),
    paths,
    components: { securitySchemes: SECURITY_SCHEMES, schemas },
  };
}
