// Runs when the front end is built: each language becomes a file of its own, so that a reader loads one.

import { LANGUAGES, MESSAGES } from '../messages.ts';

/** The names of all messages, in the order of the texts. */
export const namesOfMessages = (): string[] => Object.keys(MESSAGES);

/** The texts of one language. */
export const textsOf = (language: (typeof LANGUAGES)[number]): string[] =>
  Object.values(MESSAGES).map((texts) => texts[LANGUAGES.indexOf(language)] ?? texts[0]);
