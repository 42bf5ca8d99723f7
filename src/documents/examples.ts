// What /docs shows.

const WORKSPACE = 'acme';
const DOCUMENT = '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa';
const UPLOAD = 'b1d0c5f4-52a7-4f0e-9d0a-6a4f8f1c2e11';

export const METADATA_EXAMPLE = {
  name: 'Pump manual.pdf',
  tags: ['manual', 'pump'],
  categories: ['engineering'],
  summary: 'How to install and service the pump.',
  slots: { revision: 7 },
  access: { curators: ['curator@example.com'] },
};

export const DOCUMENT_EXAMPLE = {
  id: DOCUMENT,
  owner_id: '019a9f3e-0000-7d52-9a44-2f60c1d3b7aa',
  storage_url: `s3://atrium/${WORKSPACE}/manuals/${DOCUMENT}.pdf`,
  created_at: '2026-11-20T23:38:56.123Z',
  file_size: 48213,
  file_type: 'pdf',
  status: 'private',
  file_hash: '9e107d9d372bb6826bd81d3542a419d6',
  ...METADATA_EXAMPLE,
};

const LATER = '2026-11-21T08:00:00.000Z';

export const TRASH_EXAMPLE = {
  items: [{ ...DOCUMENT_EXAMPLE, status: 'deleted', deleted_at: LATER }],
  count: 1,
};

export const ARCHIVE_EXAMPLE = { items: [{ ...DOCUMENT_EXAMPLE, archived_at: LATER }], count: 1 };

export const DESCRIPTOR_EXAMPLE = {
  url: 'http://127.0.0.1:9000/atrium',
  fields: {
    key: `temp/${WORKSPACE}/${UPLOAD}`,
    bucket: 'atrium',
    'Content-Type': 'application/pdf',
    StorageAccessKeyId: 'atrium',
    policy: 'eyJleHBpcmF0aW9uIjoi…',
    signature: 'xh0yYc1pS1r…=',
  },
};

export const DOWNLOAD_URL_EXAMPLE = `http://127.0.0.1:9000/atrium/${WORKSPACE}/manuals/${DOCUMENT}.pdf?X-Amz-Algorithm=…`;

export const FOLDER_EXAMPLE = {
  name: 'manuals',
  path: 'manuals',
  storage_url: `s3://atrium/${WORKSPACE}/manuals/`,
};
