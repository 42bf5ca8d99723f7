import { valueError } from '../core/errors.ts';
import type { SessionKeys } from './session-key.ts';

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
