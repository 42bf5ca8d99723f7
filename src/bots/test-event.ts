// The event of a test: a direct message as the platform sends it, in the format that the bot's tokens stand for. Pure.

import type { Principal } from '../core/principal.ts';
import type { Bot } from './bot.ts';

type TestMessage = { text: string; person: Principal; id: string; at: Date };

/** The text is from the person who tests; one that begins with the name of a command is that command. */
export function toTestEvent(bot: Bot, { text, person, id, at }: TestMessage): Record<string, unknown> {
  const eventTime = at.toISOString();
  const user = {
    name: `users/${person.userId}`,
    displayName: person.email,
    email: person.email,
    type: 'HUMAN',
  };
  const space = {
    name: `spaces/test-${person.userId}`,
    type: 'DM',
    singleUserBotDm: true,
    spaceType: 'DIRECT_MESSAGE',
    spaceThreadingState: 'UNTHREADED_MESSAGES',
  };
  const [first = '', ...rest] = text.trim().split(/\s+/);
  const command = bot.commands.find(({ name }) => first === `/${name.replace(/^\//, '')}`);
  const message = {
    name: `${space.name}/messages/${id}`,
    sender: user,
    createTime: eventTime,
    text,
    argumentText: command === undefined ? text : rest.join(' '),
    ...(command === undefined ? {} : { slashCommand: { commandId: String(command.id) } }),
    thread: { name: `${space.name}/threads/${id}` },
    space,
  };
  // The tokens of a service account are those of an add-on, which has a format of its own.
  if (bot.verification.service_account_email !== undefined)
    return {
      commonEventObject: { hostApp: 'CHAT' },
      chat: { user, eventTime, messagePayload: { message, space } },
    };
  return {
    type: 'MESSAGE',
    eventTime,
    message,
    user,
    space,
    configCompleteRedirectUrl: '',
    common: { hostApp: 'CHAT' },
  };
}
