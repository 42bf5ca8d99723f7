// The policy of an upload form: what the signer allows to be uploaded.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
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

const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** A number, or its digits. */
const SIZE = /^\d{1,15}$/;

export type SizeRange = { sizeBytesMin: number; sizeBytesMax: number };

type Policy = ReturnType<typeof parsePolicy>;

/** Throws InvalidPolicyDocument. */
export function parsePolicy(base64: string) {
  const { expiration, conditions } = parseDocument(base64);
  const expiresMs = DATE.test(String(expiration)) ? Date.parse(String(expiration)) : Number.NaN;
  if (Number.isNaN(expiresMs)) throw invalid("Policy must contain a valid 'expiration'.");
  if (!Array.isArray(conditions)) throw invalid("Policy must contain a list of 'conditions'.");
  const fields: { operator: 'eq' | 'starts-with'; field: string; value: string }[] = [];
  // Every range has to admit the file.
  const size: SizeRange = { sizeBytesMin: 0, sizeBytesMax: Number.POSITIVE_INFINITY };
  for (const condition of conditions.flatMap(toLists)) {
    const [operator, first, second] = condition;
    const isField = typeof first === 'string' && first.startsWith('$') && typeof second === 'string';
    if (condition.length === 3 && (operator === 'eq' || operator === 'starts-with') && isField) {
      fields.push({ operator, field: first.slice(1).toLowerCase(), value: second });
    } else if (
      condition.length === 3 &&
      operator === 'content-length-range' &&
      SIZE.test(String(first)) &&
      SIZE.test(String(second))
    ) {
      size.sizeBytesMin = Math.max(size.sizeBytesMin, Number(first));
      size.sizeBytesMax = Math.min(size.sizeBytesMax, Number(second));
    } else throw invalid(`Invalid condition: ${JSON.stringify(condition)}`);
  }
  return { expiresMs, conditions: fields, size };
}

/** `{"field": "value"}` means `["eq", "$field", "value"]`. */
function toLists(condition: unknown): readonly (readonly unknown[])[] {
  if (Array.isArray(condition)) return [condition];
  if (typeof condition !== 'object' || condition === null) return [[condition]];
  return Object.entries(condition).map(([field, value]) => ['eq', `$${field}`, value]);
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

function parseDocument(base64: string): Record<string, unknown> {
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(base64)) throw invalid('Invalid base64.');
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    throw invalid('Invalid JSON.');
  }
}

const invalid = (reason: string): S3Error =>
  new S3Error('InvalidPolicyDocument', `Invalid Policy: ${reason}`);

const denied = (reason: string): S3Error =>
  new S3Error('AccessDenied', `Invalid according to Policy: ${reason}`);
