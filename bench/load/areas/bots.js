// A chat app hands on what people write to a bot, each in a space of its own, and now and then sends an event twice.

import exec from 'k6/execution';
import { bearer, oneOf, postJson, setting, unique } from '../lib.js';

/** People begin anew from time to time. */
const MESSAGES_A_THREAD = 20;
const path = `/chatapp/${setting.workspace}/${setting.bot}`;

function eventOf(text) {
  const { idInTest, iterationInInstance } = exec.vu;
  const thread = `${__ENV.RUN}-${idInTest}-${Math.floor(iterationInInstance / MESSAGES_A_THREAD)}`;
  const eventTime = new Date().toISOString();
  const user = {
    name: `users/${idInTest}`,
    displayName: `Person ${idInTest}`,
    email: `person-${idInTest}@example.com`,
    type: 'HUMAN',
  };
  const space = { name: `spaces/${thread}`, type: 'DM', singleUserBotDm: true };
  return {
    ...{ type: 'MESSAGE', eventTime, user, space },
    message: {
      ...{ name: `${space.name}/messages/${unique()}`, createTime: eventTime, text, argumentText: text },
      ...{ sender: user, space, thread: { name: `${space.name}/threads/one` } },
    },
    configCompleteRedirectUrl: 'https://chat.example/configured',
    common: { userLocale: 'en' },
  };
}

export function bots() {
  const text = `Where is the minute of ${unique()}?`;
  const event = eventOf(text);
  const options = { headers: bearer, holds: (answer) => answer.json('text') === text };
  const send = (name) => () => postJson(name, path, event, options);
  const message = send('bots: message');
  oneOf([
    [9, message],
    [1, () => [message, send('bots: the same message again')].map((each) => each())],
  ]);
}
