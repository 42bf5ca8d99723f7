// k6: whole uploads (descriptor, form, confirm), a fixed number of them with a fixed number in flight.

import { check } from 'k6';
import http from 'k6/http';

export const options = {
  scenarios: {
    uploads: {
      executor: 'shared-iterations',
      vus: Number(__ENV.IN_FLIGHT),
      iterations: Number(__ENV.UPLOADS),
      maxDuration: '5m',
    },
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)'],
  thresholds: { checks: ['rate==1'] },
};

const key = { APIKeyHeader: __ENV.KEY };
const BOUNDARY = 'atrium-bench';

/** The file must come last, and k6's own multipart does not keep the order of fields. */
function multipart(fields, content) {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = 'content-disposition: form-data; name="file"; filename="f.txt"\r\ncontent-type: text/plain';
  return `${parts.join('')}--${BOUNDARY}\r\n${file}\r\n\r\n${content}\r\n--${BOUNDARY}--\r\n`;
}

export default function () {
  const descriptor = http.get(`${__ENV.URL}/presigned/url`, { headers: key, tags: { step: 'descriptor' } });
  check(descriptor, { 'descriptor 201': (answer) => answer.status === 201 });
  const { url, fields } = descriptor.json();
  const form = http.post(url, multipart(fields, `content ${__VU} ${__ITER}`), {
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    tags: { step: 'form' },
  });
  check(form, { 'form 204': (answer) => answer.status === 204 });
  const body = { temp_key: fields.key, document_metadata: { name: `bench ${__VU} ${__ITER}.txt` } };
  const confirm = http.post(`${__ENV.URL}/upload/confirm`, JSON.stringify(body), {
    headers: { ...key, 'content-type': 'application/json' },
    tags: { step: 'confirm' },
  });
  check(confirm, { 'confirm 201': (answer) => answer.status === 201 });
}

export const handleSummary = (data) => ({ [__ENV.SUMMARY]: JSON.stringify(data) });
