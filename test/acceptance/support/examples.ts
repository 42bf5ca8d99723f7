import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from './contract.ts';

/** A check of examples against schemas of the document; it returns what is wrong, else undefined. */
export function createExampleCheck(
  document: OpenApiDocument,
): (schema: unknown, example: unknown) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  return (schema, example) => {
    const validate = ajv.compile({ ...(schema as object), components: document.components });
    return validate(example) ? undefined : ajv.errorsText(validate.errors);
  };
}
