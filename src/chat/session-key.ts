// The five keys of a session, and digests of what may be too long for an index: 128 bits of SHA-256, as a uuid.

import { valueError } from '../core/errors.ts';

export type SessionKeys = {
  workspaceId: string;
  channel: string;
  channelPlugin: string;
  channelId: string;
  channelSessionId: string;
};

/** Stands for the five keys of a session. */
export const sessionKeyOf = (keys: SessionKeys): string =>
  digest([keys.workspaceId, keys.channel, keys.channelPlugin, keys.channelId, keys.channelSessionId]);

/** Stands for a message of the channel, within its session. */
export const requestKeyOf = (channelMessageId: string): string => digest(['message', channelMessageId]);

/** Stands for the change of a message to a text: the same change again is the same message. */
export const editKeyOf = (messageId: number, text: string): string => digest(['edit', `${messageId}`, text]);

function digest(parts: readonly string[]): string {
  const hex = new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex');
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The conversations of bots: only their own events lead there, as only these name the person truly. */
const RESERVED = { channel: 'google_chat', channelPlugin: 'chatapp' };

/** Throws ValidationFailure for keys that are not for channels to use. */
export function refuseReserved({ channel, channelPlugin }: SessionKeys): void {
  if (channel !== RESERVED.channel || channelPlugin !== RESERVED.channelPlugin) return;
  throw valueError(
    ['path', 'channel'],
    `${RESERVED.channel} with the plugin ${RESERVED.channelPlugin} is reserved for bots`,
    channel,
  );
}

/** URLs cannot contain `.` or `..` as a segment, so such a session could not be used. Throws ValidationFailure. */
export function refuseUnreachable({ channelSessionId }: SessionKeys): void {
  if (channelSessionId !== '.' && channelSessionId !== '..') return;
  throw valueError(
    ['body', 'channel_session_id'],
    `a session can't be named '${channelSessionId}'`,
    channelSessionId,
  );
}
