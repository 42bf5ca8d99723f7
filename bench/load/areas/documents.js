// People work with files: they look at them and fetch them, change what is said of them, and bring new ones. Each brings about as many
// as it removes for good, so that the library stays as large as it is.

import { apiKey, get, oneOf, pick, postJson, send, setting, unique } from '../lib.js';

const KEPT = 1;
const BOUNDARY = 'atrium-load';
const v1 = `/v1/${setting.workspace}`;
const metadata = `/v1/metadata/${setting.workspace}`;
const options = { headers: apiKey };

/** Of this user, oldest first. */
const own = [];

/** The file must come last, and k6's own multipart does not keep the order of fields. */
function multipart(fields, content) {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = 'content-disposition: form-data; name="file"; filename="f.txt"\r\ncontent-type: text/plain';
  return `${parts.join('')}--${BOUNDARY}\r\n${file}\r\n\r\n${content}\r\n--${BOUNDARY}--\r\n`;
}

function read() {
  const { id, name, size } = pick(setting.documents);
  get('documents: detail', `${metadata}/${id}/detail`, {
    ...options,
    holds: (answer) => answer.json('name') === name,
  });
  const link = get('documents: download URL', `${v1}/file/${id}/download/url`, options);
  if (link.status === 200)
    get('documents: file from the store', link.json(), { holds: ({ body }) => body.length === size });
}

function change() {
  const { id } = pick(setting.documents);
  const summary = `Changed in ${unique()}`;
  send('documents: change', 'PUT', `${metadata}/${id}`, {
    ...options,
    body: { summary },
    holds: (answer) => answer.json('summary') === summary,
  });
}

function bring() {
  const form = get('documents: upload form', `${v1}/presigned/url`, { ...options, status: 201 });
  if (form.status !== 201) return;
  const { url, fields } = form.json();
  const content = `# Minutes of ${unique()}\n\n${pick(setting.texts)}`;
  send('documents: file to the store', 'POST', url, {
    body: multipart(fields, content),
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    status: 204,
  });
  const name = `minutes-${unique()}.md`;
  const confirmed = postJson(
    'documents: confirm',
    `${v1}/upload/confirm`,
    { temp_key: fields.key, document_metadata: { name, tags: ['minutes'] } },
    { ...options, status: 201, holds: (answer) => answer.json('file_size') === content.length },
  );
  if (confirmed.status === 201) own.push(confirmed.json('id'));
  while (own.length > KEPT) remove(own.shift());
}

function remove(id) {
  send('documents: to the bin', 'DELETE', `${v1}/${id}`, { ...options, status: 204 });
  send('documents: for good', 'DELETE', `${v1}/trash/${id}`, { ...options, status: 204 });
}

export const documents = () =>
  oneOf([
    [7, read],
    [1, change],
    [2, bring],
  ]);
