// What a bot does about an event. Nothing here waits, or knows of a model.

import { appCommandOf } from './app-command.ts';
import type { Bot, Command } from './bot.ts';
import { readClick, renderClick } from './click.ts';
import type { ChatappEvent, ChatappMessage } from './event-schema.ts';

export type Plan =
  | { kind: 'nothing' }
  /** Tell it to the person, outside the conversation. */
  | { kind: 'tell'; text: string }
  /** The turns of the conversation that answer the event, one after the other. */
  | { kind: 'converse'; turns: readonly PlannedTurn[] };

export type PlannedTurn =
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
      return planWelcome(bot, event);
    default:
      return NOTHING;
  }
}

const fromBot = (type: string | null | undefined): boolean => type === 'BOT';

const converse = (...turns: readonly PlannedTurn[]): Plan =>
  turns.length === 0 ? NOTHING : { kind: 'converse', turns };

function planMessage(bot: Bot, event: ChatappEvent): Plan {
  const turn = planSaid(bot, event, argumentOf(event.message) || typedOf(event.message));
  return turn === undefined ? NO_TEXT : converse(turn);
}

/** A person who adds the bot by a mention may ask something with it; the mention alone, which is a text, asks nothing. */
function planWelcome(bot: Bot, event: ChatappEvent): Plan {
  const { message } = event;
  const bare = typeof message?.argumentText === 'string' ? argumentOf(message) : typedOf(message);
  const turn = fromBot(message?.sender?.type) ? undefined : planSaid(bot, event, bare);
  return converse(
    ...(bot.welcomeText === null ? [] : [{ kind: 'reply', message: null, reply: bot.welcomeText } as const]),
    ...(turn === undefined ? [] : [turn]),
  );
}

/** What a person said, `text` without the mention; undefined where that is nothing. */
function planSaid(bot: Bot, event: ChatappEvent, text: string): PlannedTurn | undefined {
  const given = event.message?.slashCommand?.commandId ?? appCommandOf(event).id;
  const command = given === undefined ? undefined : bot.commands.find(({ id }) => id === Number(given));
  if (command !== undefined) {
    const name = `/${command.name.replace(/^\//, '')}`;
    const said = typedOf(event.message) || text || name;
    return planCommand(bot, command, { said, asked: text || name });
  }
  return text === '' ? undefined : { kind: 'ask', message: text, agentId: bot.agentId };
}

/** A click whose function has a command's name is that command. */
function planClick(bot: Bot, event: ChatappEvent): Plan {
  const click = readClick(event);
  const text = renderClick(click);
  if (text === '') return NOTHING;
  const command = bot.commands.find(({ name }) => name.replace(/^\//, '') === click.name);
  if (command !== undefined) return converse(planCommand(bot, command, { said: text, asked: text }));
  return converse({ kind: 'ask', message: text, agentId: bot.agentId });
}

function planCommand(
  bot: Bot,
  command: Command,
  { said, asked }: { said: string; asked: string },
): PlannedTurn {
  if (command.reply !== null) return { kind: 'reply', message: said, reply: command.reply };
  return { kind: 'ask', message: asked, agentId: command.agent_id ?? bot.agentId };
}

/** The text with the bot's mention. */
const typedOf = (message: ChatappMessage | null | undefined): string => (message?.text ?? '').trim();

/** The text without the bot's mention. */
function argumentOf(message: ChatappMessage | null | undefined): string {
  const argument = message?.argumentText;
  return typeof argument === 'string' ? argument.trim() : '';
}
