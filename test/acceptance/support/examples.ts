import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from './contract.ts';

const ROOT_ID = 'https://service.test/openapi';

/** A check of examples against schemas of the document; it returns what is wrong, else undefined. */
export function createExampleCheck(
  document: OpenApiDocument,
): (schema: unknown, example: unknown) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema({ components: document.components }, ROOT_ID);
  return (schema, example) => {
    const text = JSON.stringify(schema).replaceAll('"$ref":"#', `"$ref":"${ROOT_ID}#`);
    const validate = ajv.compile(JSON.parse(text));
    return validate(example) ? undefined : ajv.errorsText(validate.errors);
  };
}
