// What the service can't start with is refused in one line that names the variable.

import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';

const STORE = { S3_ENDPOINT: 'http://s3', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'hush-hush' };

test.each([
  [{ PROCESSES: '2', PORT: '00' }, 'PORT=0 cannot be shared'],
  [{ OBJECT_STORE_PORT: '9000', ...STORE }, 'OBJECT_STORE_PORT is for the embedded object store'],
  [{ OBJECT_STORE_PORT: '9000', PORT: '9000' }, 'OBJECT_STORE_PORT and PORT are both 9000'],
  [{ ...STORE, S3_ENDPOINT: 'http://user:hush-hush@s3' }, 'S3_ENDPOINT: '],
  [{ S3_PUBLIC_ENDPOINT: 'https://s3.example.com/#there' }, 'S3_PUBLIC_ENDPOINT: '],
  [{ S3_PUBLIC_ENDPOINT: 'https://s3.example.com/there' }, 'S3_PUBLIC_ENDPOINT: '],
  [{ S3_BUCKET: 'a..b' }, 'S3_BUCKET: "a..b"'],
  [{ S3_BUCKET: 'a.-b' }, 'S3_BUCKET: "a.-b"'],
  [{ S3_BUCKET: 'ab' }, 'S3_BUCKET: "ab"'],
  [{ S3_BUCKET: 'a'.repeat(64) }, 'S3_BUCKET: '],
  [{ MEILI_API_KEY: 'hush-hush' }, 'MEILI_API_KEY needs MEILI_URL'],
  [{ MEILI_URL: 'search:7700' }, 'MEILI_URL: '],
  [{ MEILI_URL: 'http://search', MEILI_INDEX_PREFIX: 'a b' }, 'MEILI_INDEX_PREFIX: "a b"'],
  [{ OIDC_CLIENT_SECRET: 'hush-hush' }, 'OIDC_CLIENT_SECRET needs OIDC_ISSUER'],
  [{ OIDC_ISSUER: 'http://login.example.com' }, 'OIDC_ISSUER: '],
  [{ OIDC_ISSUER: 'https://login.example.com/?tenant=a' }, 'OIDC_ISSUER: '],
  [{ OIDC_ISSUER: 'https://login.example.com' }, 'OIDC_ISSUER needs OIDC_CLIENT_ID'],
  [{ OIDC_ISSUER: 'https://login.example.com', OIDC_CLIENT_ID: 'a' }, 'OIDC_ISSUER needs OIDC_ROLES'],
  [{ OIDC_SCOPES: 'email profile' }, 'OIDC_SCOPES: "email profile"'],
  [{ OIDC_SESSION_SECONDS: '0' }, 'OIDC_SESSION_SECONDS: "0"'],
])('%j is refused', (environment, message) => {
  expect(() => loadConfig(environment)).toThrow(message);
});

test.each(['abc', 'a-b.c-d', 'a--b', '127', 'a'.repeat(63)])('a bucket may be called %s', (bucket) => {
  expect(loadConfig({ S3_BUCKET: bucket }).objects.bucket).toBe(bucket);
});

test('an origin may end with a slash, and is kept without it', () => {
  const { external } = loadConfig({ ...STORE, S3_ENDPOINT: 'HTTP://S3.example.com:80/' }).objects;
  expect(external?.endpoint).toBe('http://s3.example.com');
});

const ROLE = { group: 'writers', workspace: 'acme', scopes: ['chat'] };

test.each([
  ['{', 'expected JSON'],
  ['[]', 'at least one'],
  ['{}', 'a JSON array'],
  [JSON.stringify([ROLE, 'writers']), 'row 2 is not a JSON object'],
  [JSON.stringify([{ ...ROLE, group: undefined, gruop: 'writers' }]), 'row 1 has the unknown member "gruop"'],
  [JSON.stringify([{ ...ROLE, group: undefined }]), 'row 1 needs a group, or a claim and its value'],
  [JSON.stringify([{ ...ROLE, claim: 'groups', value: 'x' }]), 'row 1 has a group and a claim'],
  [JSON.stringify([{ ...ROLE, workspace: 'A B' }]), 'row 1 needs the workspace'],
  [JSON.stringify([{ ...ROLE, scopes: ['chat', 'root'] }]), 'row 1 needs scopes, each one of documents:read'],
  [JSON.stringify([{ ...ROLE, scopes: [] }]), 'row 1 needs scopes'],
])('the roles %s are refused', (roles, message) => {
  const environment = { OIDC_ISSUER: 'https://login.example.com', OIDC_CLIENT_ID: 'a', OIDC_ROLES: roles };
  expect(() => loadConfig(environment)).toThrow(`OIDC_ROLES: `);
  expect(() => loadConfig(environment)).toThrow(message);
});
