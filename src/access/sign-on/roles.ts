// The table from claims of a provider to workspaces and scopes.

import { parseJson } from '../../core/json.ts';
import { type KeyLimits, SCOPES, type Scope } from '../../core/principal.ts';
import { SettingsError } from '../../core/settings-reader.ts';
import { createValidator } from '../../http/validation.ts';
import { SIGN_ON_LIMITS } from '../limits.ts';
import { KeyLimitsSchema, toLimits } from '../schema.ts';
import { isWorkspaceName } from '../workspace-names.ts';

/**
 * Who has this value among those of the claim has these scopes and limits in the workspace. `ANY_VALUE` stands for every value.
 * `limits`: absent where the row states none.
 */
export type Role = {
  claim: string;
  value: string;
  workspace: string;
  scopes: readonly Scope[];
  limits?: KeyLimits | undefined;
};

/** The rights of a person in a workspace. */
export type Grant = { workspace: string; scopes: readonly Scope[]; limits: KeyLimits };

export type Claims = Readonly<Record<string, unknown>>;

const ANY_VALUE = '*';
const MEMBERS = new Set(['group', 'claim', 'value', 'workspace', 'scopes', 'limits']);

/**
 * Reads the setting `OIDC_ROLES`: a JSON array of `{group, workspace, scopes}` or `{claim, value, workspace, scopes}`, where
 * `group` is a value of the claim `groups`; each may have `limits`, as a key has them. Throws SettingsError, which names the row and its mistake.
 */
export function parseRoles(text: string): Role[] {
  const rows = parseRows(text);
  if (!Array.isArray(rows) || rows.length === 0)
    throw refusal('expected a JSON array of at least one {"group", "workspace", "scopes"}');
  return rows.map((row, at) => parseRole(row, `row ${at + 1}`));
}

function parseRows(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw refusal('expected JSON');
  }
}

function parseRole(row: unknown, place: string): Role {
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    throw refusal(`${place} is not a JSON object`);
  // A misspelt member must not make a row mean more than it says.
  const unknown = Object.keys(row).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) throw refusal(`${place} has the unknown member ${JSON.stringify(unknown)}`);
  const { group, claim, value, workspace, scopes, limits } = row as Record<string, unknown>;
  const condition = group === undefined ? { claim, value } : { claim: 'groups', value: group };
  if (group !== undefined && (claim !== undefined || value !== undefined))
    throw refusal(`${place} has a group and a claim: it may have one of them`);
  if (!isText(condition.claim) || !isText(condition.value))
    throw refusal(`${place} needs a group, or a claim and its value, each as text`);
  if (typeof workspace !== 'string' || !isWorkspaceName(workspace))
    throw refusal(`${place} needs the workspace, such as acme`);
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every(isScope))
    throw refusal(`${place} needs scopes, each one of ${SCOPES.join(', ')}`);
  return {
    claim: condition.claim,
    value: condition.value,
    workspace,
    scopes,
    limits: parseLimits(limits, place),
  };
}

const checkLimits = createValidator(KeyLimitsSchema);

function parseLimits(limits: unknown, place: string): KeyLimits | undefined {
  if (limits === undefined) return undefined;
  const { value, entries } = checkLimits(limits, []);
  const unknown = Object.keys(Object(limits)).find(
    (name) => !Object.hasOwn(KeyLimitsSchema.properties, name),
  );
  if (entries.length > 0 || unknown !== undefined)
    throw refusal(
      `${place} needs limits with ${Object.keys(KeyLimitsSchema.properties).join(', ')} alone, each a number above 0`,
    );
  return toLimits(value as KeyLimits);
}

const refusal = (reason: string) => new SettingsError(`OIDC_ROLES: ${reason}`);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isScope = (value: unknown): value is Scope => (SCOPES as readonly unknown[]).includes(value);

/**
 * The workspaces that the claims open, in the order of the table. Several rows for one workspace add up: each limit is the
 * highest of those that state limits.
 */
export function grantsOf(roles: readonly Role[], claims: Claims): Grant[] {
  const grants = new Map<string, Role[]>();
  for (const role of roles) {
    const values = valuesOf(claims, role.claim);
    if (role.value === ANY_VALUE ? values.length === 0 : !values.includes(role.value)) continue;
    grants.getOrInsertComputed(role.workspace, () => []).push(role);
  }
  return [...grants].map(([workspace, rows]) => ({
    workspace,
    scopes: [...new Set(rows.flatMap(({ scopes }) => scopes))].sort(),
    limits: highestLimits(rows.flatMap(({ limits }) => limits ?? [])),
  }));
}

/** A limit that one of them leaves out is none. */
function highestLimits(all: readonly KeyLimits[]): KeyLimits {
  if (all.length === 0) return SIGN_ON_LIMITS;
  const highest = (name: keyof KeyLimits): number | null => {
    const values = all.map((limits) => limits[name] ?? Number.POSITIVE_INFINITY);
    const value = Math.max(...values);
    return value === Number.POSITIVE_INFINITY ? null : value;
  };
  return toLimits({
    requests_per_minute: highest('requests_per_minute'),
    tokens_per_minute: highest('tokens_per_minute'),
    budget_per_month: highest('budget_per_month'),
  });
}

/** The values of a claim, as texts. A name with dots that is no claim itself is a path, such as `realm_access.roles`. */
function valuesOf(claims: Claims, name: string): string[] {
  const found = Object.hasOwn(claims, name) ? claims[name] : name.split('.').reduce(memberOf, claims);
  return (Array.isArray(found) ? found : [found])
    .filter((each) => ['string', 'number', 'boolean'].includes(typeof each))
    .map(String);
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Claims)[name]
    : undefined;
