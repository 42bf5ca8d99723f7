// k6: GETs of a list, in random order, with a fixed number in flight.

import { check } from 'k6';
import http from 'k6/http';

export const options = {
  vus: Number(__ENV.IN_FLIGHT),
  duration: __ENV.DURATION,
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)'],
  discardResponseBodies: true,
};

const requests = JSON.parse(open(__ENV.REQUESTS));

export default function () {
  const { url, key } = requests[Math.floor(Math.random() * requests.length)];
  // One name for all of them: the figures of single URLs are of no interest and would fill the memory.
  const response = http.get(url, { headers: { APIKeyHeader: key }, tags: { name: 'filter' } });
  check(response, { 'answered 200': (answer) => answer.status === 200 });
}

export const handleSummary = (data) => ({ [__ENV.SUMMARY]: JSON.stringify(data) });
