// Applications report what was used, in batches and singly; now and then somebody reads pages and sums.

import { bearer, get, oneOf, send, setting, unique } from '../lib.js';

const BATCH = 20;
const root = `/api/v1/workspace_metric/${setting.workspace}`;
const authorization = encodeURIComponent(setting.key);

const eventOf = (id) => ({
  ...{ specversion: '1.0', id, source: 'load', type: 'report.made', subject: 'ada@example.com' },
  data: { value: 1, pages: 12 },
});

function report(name, type, body) {
  send(name, 'POST', `${root}/events`, {
    headers: { ...bearer, 'content-type': `application/${type}+json` },
    body: JSON.stringify(body),
    status: 202,
  });
}

const single = () => report('usage: event', 'cloudevents', eventOf(unique()));
const batch = () =>
  report(
    'usage: batch of 20 events',
    'cloudevents-batch',
    Array.from({ length: BATCH }, (_, index) => eventOf(`${unique()}-${index}`)),
  );
const page = () =>
  get('usage: newest page', `${root}/by_created_at?newest=true&size=50&authorization=${authorization}`, {
    holds: (answer) => answer.json('items').length > 0,
  });
const sums = () =>
  get('usage: sums by hour', `${root}/summary?group_by=hour&authorization=${authorization}`, {
    holds: (answer) => answer.json('items').length > 0,
  });

export const usage = () =>
  oneOf([
    [7, batch],
    [2, single],
    [1, page],
    [1, sums],
  ]);
