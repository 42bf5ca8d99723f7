// The rules of a registration that no schema can express.

import { type ValidationEntry, ValidationFailure, valueError } from '../core/errors.ts';
import { isLoopback } from '../core/origin.ts';
import { missing } from '../http/mistakes.ts';
import type { BotSettings, Command, Verification } from './bots.ts';
import { toKeySet } from './key-sets.ts';
import { KEY_SET_URL_LENGTH_MAX, LOOKUP_TIMEOUT_MS } from './limits.ts';
import { AddressNotPublic, publicAddressesOf } from './public-fetch.ts';
import type { BotPut } from './schema.ts';

/**
 * The settings of a registration. `anywhere`: its URLs may lead to addresses that are not public. Throws
 * ValidationFailure with every mistake in it.
 */
export async function checkRegistration(body: BotPut, anywhere: boolean): Promise<BotSettings> {
  const { mode, audience = null, jwks = null, service_account_email: account = null } = body.verification;
  const commands = (body.commands ?? []).map((command): Command => {
    const { id, name, reply = null, agent_id = null } = command;
    return { id, name, reply, agent_id };
  });
  const mistakes = [
    ...audienceMistakes(body.verification),
    ...(account !== null && mode !== 'endpoint_url'
      ? mistake(
          [...VERIFICATION, 'service_account_email'],
          'only endpoint_url goes by a service account',
          account,
        )
      : []),
    ...(jwks === null ? [] : await keySetMistakes(jwks, anywhere)),
    ...commands.flatMap((command, index) => commandMistakes(command, index, commands)),
  ];
  if (mistakes.length > 0) throw new ValidationFailure(mistakes);
  return {
    verification: {
      mode,
      audience,
      jwks: jwks as Verification['jwks'],
      ...(account === null ? {} : { service_account_email: account }),
      jwks_anywhere: typeof jwks === 'string' && anywhere,
    },
    agentId: body.agent_id ?? null,
    welcomeText: body.welcome_text ?? null,
    commands,
  };
}

const VERIFICATION = ['body', 'verification'];

/** The audience of tokens: the project's number, or the URL of the webhook. */
function audienceMistakes(verification: BotPut['verification']): readonly ValidationEntry[] {
  const { mode, audience } = verification;
  const loc = [...VERIFICATION, 'audience'];
  if (mode === 'key') return [];
  if (audience === undefined || audience === null) return [missing(loc, verification)];
  if (mode === 'endpoint_url' && !/^https?:$/.test(urlOf(audience)?.protocol ?? ''))
    return mistake(loc, 'the audience of endpoint_url is the URL of the webhook', audience);
  return [];
}

async function keySetMistakes(jwks: unknown, anywhere: boolean): Promise<readonly ValidationEntry[]> {
  const loc = [...VERIFICATION, 'jwks'];
  if (typeof jwks === 'string') {
    const url = jwks.length <= KEY_SET_URL_LENGTH_MAX ? urlOf(jwks) : undefined;
    if (url === undefined || !isKeySetUrl(url))
      return mistake(loc, 'a key set is fetched by https, or by http from this machine', jwks);
    if (anywhere || !(await isKnownAsPrivate(url))) return [];
    return mistake(loc, 'only an operator may name an address that is not public', jwks);
  }
  try {
    toKeySet(jwks);
    return [];
  } catch (error) {
    return mistake(loc, error instanceof Error ? error.message : 'it is no key set', withoutKeys(jwks));
  }
}

/** The input may contain a private key, which no answer repeats. */
const withoutKeys = (jwks: unknown): unknown => (typeof jwks === 'object' ? {} : jwks);

function isKeySetUrl(url: URL): boolean {
  if (url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** A name without an address is accepted, because each fetch checks its addresses again. */
async function isKnownAsPrivate(url: URL): Promise<boolean> {
  try {
    await publicAddressesOf(url, { signal: AbortSignal.timeout(LOOKUP_TIMEOUT_MS) });
    return false;
  } catch (error) {
    return error instanceof AddressNotPublic;
  }
}

function commandMistakes(
  { id, reply, agent_id }: Command,
  index: number,
  commands: readonly Command[],
): readonly ValidationEntry[] {
  const loc = ['body', 'commands', index];
  const repeated = commands.findIndex((command) => command.id === id) < index;
  return [
    ...(repeated ? mistake([...loc, 'id'], 'another command has this id', id) : []),
    ...((reply === null) === (agent_id === null)
      ? mistake(loc, 'a command has either a reply or an agent_id', { id, reply, agent_id })
      : []),
  ];
}

const mistake = (loc: (string | number)[], reason: string, input: unknown): readonly ValidationEntry[] =>
  valueError(loc, reason, input).entries;

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);
