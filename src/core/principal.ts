// The authenticated caller, as all areas see it.

export const SCOPES = [
  'documents:read',
  'documents:write',
  'models',
  'chat',
  'bots',
  'metrics',
  'admin',
  'operator',
] as const;
export type Scope = (typeof SCOPES)[number];

/** The limits of a key; each is enforced by the area that counts it. */
export type KeyLimits = {
  requests_per_minute?: number;
  tokens_per_minute?: number;
  budget_per_month?: number;
};

/** `predecessors`: the keys that this one replaces, oldest first; what they have used counts as its own. */
export type CountedLimits = KeyLimits & { predecessors?: readonly string[] };

export const isLimited = (limits: KeyLimits): boolean =>
  limits.requests_per_minute !== undefined ||
  limits.tokens_per_minute !== undefined ||
  limits.budget_per_month !== undefined;

/** The remainder of each limit, in its unit, and when all of it is available again; null where there is no limit. */
export type RemainingLimits = Record<keyof KeyLimits, { remaining: number; resets_at: string } | null>;

export type Principal = {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly userId: string;
  /** Lower-cased. */
  readonly email: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly limits: CountedLimits;
  /** How the caller was identified; absent: by a key. */
  readonly via?: 'session' | 'command-line';
};

/** Administrators of a workspace: scope `admin`, or `operator`, which administers every workspace. */
export const isAdmin = (principal: Pick<Principal, 'scopes'>): boolean =>
  principal.scopes.has('admin') || principal.scopes.has('operator');
