// k6: one GET at a fixed rate.

import { check } from 'k6';
import http from 'k6/http';

export const options = {
  scenarios: {
    steady: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: __ENV.DURATION,
      preAllocatedVUs: 50,
      maxVUs: 500,
    },
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)'],
  discardResponseBodies: true,
};

export default function () {
  check(http.get(__ENV.URL), { 'status is 200': (answer) => answer.status === 200 });
}

export const handleSummary = (data) => ({ [__ENV.SUMMARY]: JSON.stringify(data) });
