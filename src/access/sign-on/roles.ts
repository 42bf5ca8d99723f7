// The table from claims of a provider to workspaces and scopes.

import { parseJson } from '../../core/json.ts';
import { SCOPES, type Scope } from '../../core/principal.ts';
import { SettingsError } from '../../core/settings-reader.ts';
import { isWorkspaceName } from '../workspace-names.ts';

/** Who has this value among those of the claim has these scopes in the workspace. `ANY_VALUE` stands for every value. */
export type Role = { claim: string; value: string; workspace: string; scopes: readonly Scope[] };

/** The rights of a person in a workspace. */
export type Grant = { workspace: string; scopes: readonly Scope[] };

export type Claims = Readonly<Record<string, unknown>>;

const ANY_VALUE = '*';
const MEMBERS = new Set(['group', 'claim', 'value', 'workspace', 'scopes']);

/**
 * Reads the setting `OIDC_ROLES`: a JSON array of `{group, workspace, scopes}` or `{claim, value, workspace, scopes}`, where
 * `group` is a value of the claim `groups`. Throws SettingsError, which names the row and its mistake.
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
  const { group, claim, value, workspace, scopes } = row as Record<string, unknown>;
  const condition = group === undefined ? { claim, value } : { claim: 'groups', value: group };
  if (group !== undefined && (claim !== undefined || value !== undefined))
    throw refusal(`${place} has a group and a claim: it may have one of them`);
  if (!isText(condition.claim) || !isText(condition.value))
    throw refusal(`${place} needs a group, or a claim and its value, each as text`);
  if (typeof workspace !== 'string' || !isWorkspaceName(workspace))
    throw refusal(`${place} needs the workspace, such as acme`);
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every(isScope))
    throw refusal(`${place} needs scopes, each one of ${SCOPES.join(', ')}`);
  return { claim: condition.claim, value: condition.value, workspace, scopes };
}

const refusal = (reason: string) => new SettingsError(`OIDC_ROLES: ${reason}`);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isScope = (value: unknown): value is Scope => (SCOPES as readonly unknown[]).includes(value);

/** The workspaces that the claims open, in the order of the table; several rows for one workspace add up. */
export function grantsOf(roles: readonly Role[], claims: Claims): Grant[] {
  const grants = new Map<string, Set<Scope>>();
  for (const { claim, value, workspace, scopes } of roles) {
    const values = valuesOf(claims, claim);
    if (value === ANY_VALUE ? values.length === 0 : !values.includes(value)) continue;
    const granted = grants.get(workspace) ?? new Set();
    for (const scope of scopes) granted.add(scope);
    grants.set(workspace, granted);
  }
  return [...grants].map(([workspace, scopes]) => ({ workspace, scopes: [...scopes].sort() }));
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
