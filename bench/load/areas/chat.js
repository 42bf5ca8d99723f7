// A conversation, from its beginning to its removal: three messages, each answered, the second as a stream, and all of it read again.

import { get, postJson, send, serviceKey, setting, unique } from '../lib.js';

const options = { headers: serviceKey };
const channel = `${setting.workspace}/web/widget/load`;
const messages = '/api/v1/chat/messages';

export function chat() {
  const name = unique();
  const session = postJson(
    'chat: session',
    `${messages}/create-chat-session/${channel}`,
    { agi_id: 'nobody', channel_session_id: name },
    { ...options, holds: (answer) => answer.json('created') === true },
  );
  if (session.status !== 200) return;
  for (const number of [1, 2, 3]) say(name, number);
  const id = session.json('chat_session_id');
  const own = `/api/v1/chat/sessions/${setting.workspace}/${id}`;
  get('chat: transcript', `${own}/messages`, {
    ...options,
    holds: (answer) => answer.json('items').length === 6,
  });
  send('chat: removal', 'DELETE', own, { ...options, status: 204 });
}

function say(name, number) {
  const streams = number === 2;
  const message = `What did I say in ${name} as number ${number}?`;
  postJson(
    streams ? 'chat: message, as a stream' : 'chat: message',
    `${messages}/send-message/${channel}/bychannelsession/${name}`,
    {
      message,
      channel_user_message_id: `${name}-${number}`,
      channel_assistant_message_id: `${name}-${number}-answer`,
    },
    {
      headers: { ...serviceKey, ...(streams ? { accept: 'text/event-stream' } : {}) },
      holds: (answer) => (streams ? answer.body.includes(name) : answer.json('answer') === message),
    },
  );
}
