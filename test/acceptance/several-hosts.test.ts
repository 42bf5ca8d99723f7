import { expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { sendRaw } from './support/raw-request.ts';
import { startSetting } from './support/setting.ts';

const { url } = await shared(startSetting());

test.each(['/', '/healthz', '/v1/models', '/v1/filter/acme', '/admin/sign-in', '/no/such/path'])(
  'a request for %s with two Host headers is refused',
  async (path) => {
    for (const [one, two] of [
      ['127.0.0.1', 'other.example'],
      ['127.0.0.1', '127.0.0.1'],
      ['', '127.0.0.1'],
    ]) {
      const head = [`GET ${path} HTTP/1.1`, `Host: ${one}`];
      expect(await sendRaw(url, { head, host: two ?? null })).toStartWith('HTTP/1.1 400 ');
    }
  },
);
