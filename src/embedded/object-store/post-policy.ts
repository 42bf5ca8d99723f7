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

interface FieldCondition {
  readonly operator: 'eq' | 'starts-with';
  /** Lower case. */
  readonly field: string;
  readonly value: string;
}

export interface SizeRange {
  readonly sizeBytesMin: number;
  readonly sizeBytesMax: number;
}

interface Policy {
  readonly expiresMs: number;
  readonly conditions: readonly FieldCondition[];
  readonly size: SizeRange;
}

/** Throws InvalidPolicyDocument. */
export function parsePolicy(base64: string): Policy {
  const document = parseJson(base64);
  const expiration = propertyOf(document, 'expiration');
  const conditions = propertyOf(document, 'conditions');
  const expiresMs = typeof expiration === 'string' ? parseDate(expiration) : Number.NaN;
  if (Number.isNaN(expiresMs)) throw invalid("Policy must contain a valid 'expiration'.");
  if (!Array.isArray(conditions)) throw invalid("Policy must contain a list of 'conditions'.");
  const fields: FieldCondition[] = [];
  let size: SizeRange = { sizeBytesMin: 0, sizeBytesMax: Number.POSITIVE_INFINITY };
  for (const condition of conditions.flatMap(toLists)) {
    if (condition[0] === 'content-length-range') size = intersect(size, parseSizeRange(condition));
    else fields.push(parseFieldCondition(condition));
  }
  return { expiresMs, conditions: fields, size };
}

interface PolicyCheck {
  /** By lower-case name. */
  readonly fields: ReadonlyMap<string, string>;
  /** Where the form was posted to; it counts as the field `bucket` when the form has none. */
  readonly bucket: string;
  readonly now: number;
}

/**
 * Throws AccessDenied unless the policy is in force, every condition holds for a field of the request, and every field
 * has a condition. The code that counts the bytes checks the size range.
 */
export function assertPolicyAllows(policy: Policy, check: PolicyCheck): void {
  if (check.now >= policy.expiresMs) throw denied('Policy expired.');
  const fields = new Map([['bucket', check.bucket], ...check.fields]);
  for (const condition of policy.conditions) {
    const value = fields.get(condition.field);
    const holds =
      condition.operator === 'eq' ? value === condition.value : value?.startsWith(condition.value) === true;
    if (!holds) {
      const { operator, field } = condition;
      throw denied(`Policy Condition failed: ["${operator}", "$${field}", "${condition.value}"]`);
    }
  }
  const covered = new Set(policy.conditions.map((condition) => condition.field));
  const extra = [...check.fields.keys()].filter(
    (name) => !covered.has(name) && !EXEMPT_FIELDS.has(name) && !name.startsWith(EXEMPT_PREFIX),
  );
  if (extra.length > 0) throw denied(`Extra input fields: ${extra.join(', ')}`);
}

function parseJson(base64: string): unknown {
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(base64)) throw invalid('Invalid base64.');
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
    return JSON.parse(text);
  } catch {
    throw invalid('Invalid JSON.');
  }
}

/** ISO 8601 with date, time and zone, as S3 asks for. */
const parseDate = (text: string): number =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;

/** `{"field": "value"}` means `["eq", "$field", "value"]`. */
function toLists(condition: unknown): readonly (readonly unknown[])[] {
  if (typeof condition !== 'object' || condition === null) throw invalid('Invalid condition.');
  if (Array.isArray(condition)) return [condition];
  return Object.entries(condition).map(([field, value]) => ['eq', `$${field}`, value]);
}

/** `["eq" | "starts-with", "$field", "value"]` */
function parseFieldCondition(condition: readonly unknown[]): FieldCondition {
  const [operator, field, value] = condition;
  if (operator !== 'eq' && operator !== 'starts-with') throw invalid('Invalid condition operator.');
  if (
    condition.length !== 3 ||
    typeof field !== 'string' ||
    !field.startsWith('$') ||
    typeof value !== 'string'
  )
    throw invalid('Invalid condition: a field "$name" and a value are needed.');
  return { operator, field: field.slice(1).toLowerCase(), value };
}

/** `["content-length-range", min, max]`, numbers or their digits. */
function parseSizeRange(condition: readonly unknown[]): SizeRange {
  const [min, max] = condition
    .slice(1)
    .map((bound) => (/^\d{1,15}$/.test(String(bound)) ? Number(bound) : -1));
  if (condition.length !== 3 || min === undefined || max === undefined || min < 0 || max < 0)
    throw invalid('Invalid content-length-range.');
  return { sizeBytesMin: min, sizeBytesMax: max };
}

const intersect = (a: SizeRange, b: SizeRange): SizeRange => ({
  sizeBytesMin: Math.max(a.sizeBytesMin, b.sizeBytesMin),
  sizeBytesMax: Math.min(a.sizeBytesMax, b.sizeBytesMax),
});

const propertyOf = (document: unknown, name: string): unknown =>
  typeof document === 'object' && document !== null ? Reflect.get(document, name) : undefined;

const invalid = (reason: string): S3Error =>
  new S3Error('InvalidPolicyDocument', `Invalid Policy: ${reason}`);

const denied = (reason: string): S3Error =>
  new S3Error('AccessDenied', `Invalid according to Policy: ${reason}`);
