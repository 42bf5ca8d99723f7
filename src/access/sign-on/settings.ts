import { isLoopback } from '../../core/origin.ts';
import {
  choice,
  createSettingsMistakes,
  JSON_TEXT,
  type Kind,
  ORIGIN,
  pattern,
  type Setting,
  TEXT,
} from '../../core/settings-reader.ts';
import { duration } from '../../core/settings-units.ts';
import { parseRoles, type Role } from './roles.ts';

/** Single sign-on by an OpenID Connect provider. */
export type SignOnSettings = {
  issuer: string;
  clientId: string;
  /** Absent: a public client, which PKCE alone protects. */
  clientSecret: string | undefined;
  /** The name of the provider on the page that signs in. */
  name: string;
  /** The scopes that are asked for, separated by blanks. */
  scopes: string;
  roles: readonly Role[];
  /** The provider verifies every e-mail address, also where it does not say `email_verified`. */
  emailTrusted: boolean;
  /** Lifetime of a session. */
  sessionSeconds: number;
  /** The origin by which browsers reach the service; undefined: the one of each request. */
  publicUrl: string | undefined;
};

/** HTTPS, as the provider's identity depends on it; plain HTTP for a provider on this machine. */
const ISSUER: Kind<string> = {
  allowed: 'the https URL of a provider without a query, or an http URL of this machine',
  parse: (text) => {
    const url = URL.parse(text);
    if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return undefined;
    const host = url.hostname.replace(/^\[(.+)\]$/, '$1');
    return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(host)) ? text : undefined;
  },
};

export const SIGN_ON_SETTINGS = {
  PUBLIC_URL: {
    kind: ORIGIN,
    otherwise: 'the Host of each request',
    meaning: 'origin by which browsers reach the service; single sign-on leads back to it',
  },
  OIDC_ISSUER: {
    kind: ISSUER,
    otherwise: 'none',
    meaning: 'URL of the OpenID Connect provider at which people sign in to the portal',
  },
  OIDC_CLIENT_ID: { kind: TEXT, otherwise: 'none', meaning: 'what the provider calls this service' },
  OIDC_CLIENT_SECRET: { kind: TEXT, otherwise: 'none', meaning: 'its secret there', secret: true },
  OIDC_ROLES: {
    kind: JSON_TEXT,
    otherwise: 'none',
    meaning: 'JSON table from claims or groups to workspaces, scopes and limits',
  },
  OIDC_NAME: {
    kind: TEXT,
    otherwise: "OIDC_ISSUER's host",
    meaning: 'what the sign-in page calls the provider',
  },
  OIDC_SCOPES: {
    kind: pattern(
      /^(?=(?:.* )?openid(?: |$))[\x21\x23-\x5b\x5d-\x7e ]+$/,
      'scopes with openid among them, separated by blanks',
    ),
    default: 'openid email profile',
    meaning: 'scopes that the sign-in asks for, openid among them',
  },
  OIDC_EMAIL_TRUSTED: {
    kind: choice(['true', 'false']),
    default: 'false',
    meaning: 'whether the provider verifies e-mail addresses although it does not say `email_verified`',
  },
  OIDC_SESSION_SECONDS: {
    kind: duration('seconds', 60, 2_592_000),
    default: '43200',
    meaning: 'seconds after which a person has to sign in at the provider again',
  },
} satisfies Record<string, Setting>;

type Given = {
  OIDC_ISSUER: string | undefined;
  OIDC_CLIENT_ID: string | undefined;
  OIDC_CLIENT_SECRET: string | undefined;
  OIDC_ROLES: string | undefined;
  OIDC_NAME: string | undefined;
  OIDC_SCOPES: string;
  OIDC_EMAIL_TRUSTED: 'true' | 'false';
  OIDC_SESSION_SECONDS: number;
  PUBLIC_URL: string | undefined;
};

/** Undefined without `OIDC_ISSUER`. Throws SettingsError where one of the settings needs another one, or is not allowed. */
export function toSignOnSettings(given: Given): SignOnSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_ROLES: table } = given;
  const mistakes = createSettingsMistakes();
  const roles = table === undefined ? undefined : mistakes.attempt(() => parseRoles(table));
  if (issuer === undefined) {
    for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES', 'OIDC_NAME'] as const)
      if (given[name] !== undefined) mistakes.add(`${name} needs OIDC_ISSUER, which is not set`);
    mistakes.refuse();
    return undefined;
  }
  if (clientId === undefined) mistakes.add('OIDC_ISSUER needs OIDC_CLIENT_ID');
  if (table === undefined) mistakes.add('OIDC_ISSUER needs OIDC_ROLES, without which no person has rights');
  mistakes.refuse();
  // The mistakes above leave none of them out.
  if (clientId === undefined || roles === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret: given.OIDC_CLIENT_SECRET,
    name: given.OIDC_NAME ?? new URL(issuer).host,
    scopes: given.OIDC_SCOPES,
    roles,
    emailTrusted: given.OIDC_EMAIL_TRUSTED === 'true',
    sessionSeconds: given.OIDC_SESSION_SECONDS,
    publicUrl: given.PUBLIC_URL,
  };
}
