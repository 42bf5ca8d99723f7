// Applications call models: whole answers, streams and embeddings. The upstream repeats what it was sent.

import { bearer, get, oneOf, postJson, setting, unique } from '../lib.js';

const options = { headers: bearer };
const path = '/v1/chat/completions';
const bodyOf = (content) => ({ model: setting.model, messages: [{ role: 'user', content }] });

function whole() {
  const content = `Repeat what I say, number ${unique()}`;
  postJson('gateway: chat', path, bodyOf(content), {
    ...options,
    holds: (answer) => answer.json('choices.0.message.content') === content,
  });
}

function stream() {
  const mark = unique();
  postJson(
    'gateway: stream',
    path,
    { ...bodyOf(`Say it word by word ${mark}`), stream: true },
    { ...options, holds: ({ body }) => body.includes(mark) && body.trimEnd().endsWith('data: [DONE]') },
  );
}

function embeddings() {
  const input = ['The filter of the pump', `is changed every ${unique()} hours`];
  postJson(
    'gateway: embeddings',
    `/${setting.workspace}/v1/embeddings`,
    { input },
    { ...options, holds: (answer) => answer.json('data').length === input.length },
  );
}

const models = () =>
  get('gateway: models', '/v1/models', {
    ...options,
    holds: (answer) => answer.json('data').some(({ id }) => id === setting.model),
  });

export const gateway = () =>
  oneOf([
    [6, whole],
    [2, stream],
    [2, embeddings],
    [1, models],
  ]);
