// k6: one GET, again and again, with a fixed number in flight.

import { check } from 'k6';
import http from 'k6/http';

export const options = {
  vus: Number(__ENV.IN_FLIGHT),
  duration: __ENV.DURATION,
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)'],
  discardResponseBodies: true,
};

const parameters = { headers: { APIKeyHeader: __ENV.KEY } };
const urls = JSON.parse(__ENV.URLS);
const expected = Number(__ENV.STATUS);

export default function () {
  const response = http.get(urls[Math.floor(Math.random() * urls.length)], parameters);
  check(response, { 'expected status': (answer) => answer.status === expected });
}

export const handleSummary = (data) => ({ [__ENV.SUMMARY]: JSON.stringify(data) });
