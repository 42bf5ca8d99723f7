// Digests that stand for what may be too long for an index: 128 bits of SHA-256, as a uuid.

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
