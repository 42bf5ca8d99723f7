// The policy of an upload form: what the signer allows to be uploaded.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { S3Error } from './errors.ts';

/** Fields that need no condition. */
export const EXEMPT_FIELDS: ReadonlySet<string> = new Set([
  'awsaccesskeyid',
  'file',
  'policy',
  'signature',
  'storageaccesskeyid',
  'x-amz-signature',
]);
export const EXEMPT_PREFIX = 'x-ignore-';

/** Numbers, or their digits. */
const SizeBytes = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^\\d{1,15}$' })]);
const SizeCondition = Type.Tuple([Type.Literal('content-length-range'), SizeBytes, SizeBytes]);
const FieldCondition = Type.Tuple([
  Type.Union([Type.Literal('eq'), Type.Literal('starts-with')]),
  Type.String({ pattern: '^\\$' }),
  Type.String(),
]);
const PolicyDocument = Type.Object({
  expiration: Type.String({
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
  }),
  /** `{"field": "value"}` means `["eq", "$field", "value"]`. */
  conditions: Type.Array(
    Type.Union([SizeCondition, FieldCondition, Type.Record(Type.String(), Type.String())]),
  ),
});

export type SizeRange = { sizeBytesMin: number; sizeBytesMax: number };

type Policy = ReturnType<typeof parsePolicy>;

/** Throws InvalidPolicyDocument. */
export function parsePolicy(base64: string) {
  const { expiration, conditions } = parseDocument(base64);
  const expiresMs = Date.parse(expiration);
  if (Number.isNaN(expiresMs)) throw invalid("Policy must contain a valid 'expiration'.");
  const fields: { operator: string; field: string; value: string }[] = [];
  // Every range has to admit the file.
  const size = { sizeBytesMin: 0, sizeBytesMax: Number.POSITIVE_INFINITY };
  for (const condition of conditions) {
    if (!Array.isArray(condition))
      for (const [field, value] of Object.entries(condition))
        fields.push({ operator: 'eq', field: field.toLowerCase(), value });
    else if (condition[0] === 'content-length-range') {
      size.sizeBytesMin = Math.max(size.sizeBytesMin, Number(condition[1]));
      size.sizeBytesMax = Math.min(size.sizeBytesMax, Number(condition[2]));
    } else {
      const [operator, field, value] = condition as Static<typeof FieldCondition>;
      fields.push({ operator, field: field.slice(1).toLowerCase(), value });
    }
  }
  return { expiresMs, conditions: fields, size };
}

/**
 * Throws AccessDenied unless the policy is in force, every condition holds for a field of the request, and every field
 * has a condition. The code that counts the bytes checks the size range.
 *
 * `bucket` is where the form was posted to; it counts as the field `bucket` when the form has none. Names of fields are in lower case.
 */
export function assertPolicyAllows(
  policy: Policy,
  form: { fields: ReadonlyMap<string, string>; bucket: string; now: number },
): void {
  if (form.now >= policy.expiresMs) throw denied('Policy expired.');
  const fields = new Map([['bucket', form.bucket], ...form.fields]);
  for (const { operator, field, value } of policy.conditions) {
    const given = fields.get(field);
    const holds = operator === 'eq' ? given === value : given?.startsWith(value) === true;
    if (!holds) throw denied(`Policy Condition failed: ["${operator}", "$${field}", "${value}"]`);
  }
  const covered = new Set(policy.conditions.map(({ field }) => field));
  const extra = [...form.fields.keys()].filter(
    (name) => !covered.has(name) && !EXEMPT_FIELDS.has(name) && !name.startsWith(EXEMPT_PREFIX),
  );
  if (extra.length > 0) throw denied(`Extra input fields: ${extra.join(', ')}`);
}

function parseDocument(base64: string): Static<typeof PolicyDocument> {
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(base64)) throw invalid('Invalid base64.');
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64')));
  } catch {
    throw invalid('Invalid JSON.');
  }
  if (!Value.Check(PolicyDocument, document)) throw invalid('Invalid expiration or conditions.');
  return document;
}

const invalid = (reason: string): S3Error =>
  new S3Error('InvalidPolicyDocument', `Invalid Policy: ${reason}`);

const denied = (reason: string): S3Error =>
  new S3Error('AccessDenied', `Invalid according to Policy: ${reason}`);
