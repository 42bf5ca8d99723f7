// The decision how a bot answers an event. Pure.

import type { Bot, Command } from './bots.ts';
import { readClick, renderClick } from './click.ts';
import { appCommandOf, type ChatappEvent, type ChatappMessage } from './event-schema.ts';

export type Plan =
  | { kind: 'nothing' }
  /** A message to the person that is not part of the conversation. */
  | { kind: 'notice'; text: string }
  /** The messages that the event puts into its session, in order. */
  | { kind: 'converse'; turns: readonly PlannedTurn[] };

export type PlannedTurn =
  /** A fixed reply, to a message or to none. */
  | { kind: 'reply'; message: string | null; reply: string }
  | { kind: 'ask'; message: string; agentId: string | null };

const NOTHING: Plan = { kind: 'nothing' };
const NO_TEXT: Plan = { kind: 'notice', text: 'I can only read text. Please write to me what it is about.' };

/** Unknown types, those that need no answer, and messages of other bots are not answered. */
export function planAnswer(bot: Bot, event: ChatappEvent): Plan {
  switch (event.type) {
    case 'MESSAGE':
      return fromBot(event.message?.sender?.type ?? event.user.type) ? NOTHING : planMessage(bot, event);
    case 'APP_COMMAND':
      return fromBot(event.user.type) ? NOTHING : planMessage(bot, event);
    case 'CARD_CLICKED':
      // The message is the card, which the bot itself has sent.
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

/** A person who adds the bot by a mention may ask a question with it; the mention alone is no question. */
function planWelcome(bot: Bot, event: ChatappEvent): Plan {
  const { message } = event;
  const bare = typeof message?.argumentText === 'string' ? argumentOf(message) : typedOf(message);
  const turn = fromBot(message?.sender?.type) ? undefined : planSaid(bot, event, bare);
  return converse(
    ...(bot.welcomeText === null ? [] : [{ kind: 'reply', message: null, reply: bot.welcomeText } as const]),
    ...(turn === undefined ? [] : [turn]),
  );
}

/** The answer to a message of a person; `text`: without the mention. Undefined where there is none. */
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
