// k6: PUTs of a list, in random order; RATE a second, or as many as a fixed number in flight makes.

import { check } from 'k6';
import http from 'k6/http';

const inFlight = Number(__ENV.IN_FLIGHT);

export const options = {
  scenarios: {
    patches: __ENV.RATE
      ? {
          executor: 'constant-arrival-rate',
          rate: Number(__ENV.RATE),
          duration: __ENV.DURATION,
          preAllocatedVUs: inFlight,
        }
      : { executor: 'constant-vus', vus: inFlight, duration: __ENV.DURATION },
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)'],
  discardResponseBodies: true,
};

const requests = JSON.parse(open(__ENV.REQUESTS));

export default function () {
  const { url, key, body } = requests[Math.floor(Math.random() * requests.length)];
  const headers = { APIKeyHeader: key, 'content-type': 'application/json' };
  const response = http.put(url, body, { headers, tags: { name: 'patch' } });
  check(response, { 'answered 200': (answer) => answer.status === 200 });
}

export const handleSummary = (data) => ({ [__ENV.SUMMARY]: JSON.stringify(data) });
