// What a bot does about an event. Nothing here waits, or knows of a model.

import type { Bot, Command } from './bot.ts';
import { readClick, renderClick } from './click.ts';
import type { ChatappEvent, ChatappMessage } from './event-schema.ts';

export type Plan =
  | { kind: 'nothing' }
  /** Tell it to the person, outside the conversation. */
  | { kind: 'tell'; text: string }
  /** An answer that stands before, to a message or to none. */
  | { kind: 'reply'; message: string | null; reply: string }
  | { kind: 'ask'; message: string; agentId: string | null };

const NOTHING: Plan = { kind: 'nothing' };
const NO_TEXT: Plan = { kind: 'tell', text: 'I can only read text. Please write to me what it is about.' };

/** Types that are not known, and those that ask for nothing, get nothing: so does what other bots say. */
export function planAnswer(bot: Bot, event: ChatappEvent): Plan {
  switch (event.type) {
    case 'MESSAGE':
      return fromBot(event.message?.sender?.type ?? event.user.type) ? NOTHING : planMessage(bot, event);
    case 'APP_COMMAND':
      return fromBot(event.user.type) ? NOTHING : planMessage(bot, event);
    case 'CARD_CLICKED':
      // The message is the card's, which the bot itself has sent.
      return fromBot(event.user.type) ? NOTHING : planClick(bot, event);
    case 'ADDED_TO_SPACE':
      return bot.welcomeText === null ? NOTHING : { kind: 'reply', message: null, reply: bot.welcomeText };
    default:
      return NOTHING;
  }
}

const fromBot = (type: string | null | undefined): boolean => type === 'BOT';

function planMessage(bot: Bot, event: ChatappEvent): Plan {
  const { message } = event;
  const typed = (message?.text ?? '').trim();
  const text = argumentOf(message) || typed;
  const given = message?.slashCommand?.commandId ?? appCommandOf(event);
  const command = given === undefined ? undefined : bot.commands.find(({ id }) => id === Number(given));
  if (command !== undefined) {
    const name = `/${command.name.replace(/^\//, '')}`;
    return planCommand(bot, command, { said: typed || text || name, asked: text || name });
  }
  return text === '' ? NO_TEXT : { kind: 'ask', message: text, agentId: bot.agentId };
}

/** A click whose function has a command's name is that command. */
function planClick(bot: Bot, event: ChatappEvent): Plan {
  const click = readClick(event);
  const text = renderClick(click);
  if (text === '') return NOTHING;
  const command = bot.commands.find(({ name }) => name.replace(/^\//, '') === click.name);
  if (command !== undefined) return planCommand(bot, command, { said: text, asked: text });
  return { kind: 'ask', message: text, agentId: bot.agentId };
}

function planCommand(bot: Bot, command: Command, { said, asked }: { said: string; asked: string }): Plan {
  if (command.reply !== null) return { kind: 'reply', message: said, reply: command.reply };
  return { kind: 'ask', message: asked, agentId: command.agent_id ?? bot.agentId };
}

/** The text without the bot's mention. */
function argumentOf(message: ChatappMessage | null | undefined): string {
  const argument = message?.argumentText;
  return typeof argument === 'string' ? argument.trim() : '';
}

/** The command of newer events, which may have no message. */
function appCommandOf(event: ChatappEvent): unknown {
  const { appCommandMetadata: metadata } = event as { appCommandMetadata?: unknown };
  if (typeof metadata !== 'object' || metadata === null || !('appCommandId' in metadata)) return undefined;
  return metadata.appCommandId;
}
