// Questions to the library, each of which has one document that answers it.

import { apiKey, pick, postJson, setting } from '../lib.js';

export function knowledge() {
  const { query, name } = pick(setting.questions);
  postJson(
    'knowledge: retrieve',
    `/v1/${setting.workspace}/retrieve`,
    { query, limit: 5 },
    {
      headers: apiKey,
      holds: (answer) => answer.json('passages').some((passage) => passage.name === name),
    },
  );
}
