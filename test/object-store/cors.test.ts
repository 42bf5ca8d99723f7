import { describe, expect, test } from 'bun:test';
import { BUCKET, startTestStore } from './fixture.ts';
import { supersetForm, toFormData } from './form.ts';

const APP = 'https://app.example';

function preflight(endpoint: string, origin: string, method: string): Promise<Response> {
  const headers = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type,x-amz-meta-a',
  };
  return fetch(`${endpoint}/${BUCKET}/key`, { method: 'OPTIONS', headers });
}

describe('a browser', () => {
  test('of a configured origin may upload and read the ETag', async () => {
    await using store = await startTestStore(['https://other.example', APP]);
    const allowed = await preflight(store.endpoint, APP, 'PUT');
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(APP);
    expect(allowed.headers.get('access-control-allow-methods')).toContain('PUT');
    expect(allowed.headers.get('access-control-allow-headers')).toBe('content-type,x-amz-meta-a');
    const body = toFormData(supersetForm('k'), 'x');
    const answer = await fetch(`${store.endpoint}/${BUCKET}`, {
      method: 'POST',
      body,
      headers: { origin: APP },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
    expect(answer.headers.get('access-control-expose-headers')).toContain('ETag');
    expect(answer.headers.get('vary')).toBe('Origin');
  });

  test('of a configured origin may read errors too', async () => {
    await using store = await startTestStore([APP]);
    const answer = await fetch(`${store.endpoint}/${BUCKET}/k`, { headers: { origin: APP } });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
  });

  test('of another origin gets nothing, nor may any where none is configured', async () => {
    for (const origins of [[APP], []]) {
      await using store = await startTestStore(origins);
      for (const origin of ['https://evil.example', 'https://app.example.evil.example', 'null']) {
        const refused = await preflight(store.endpoint, origin, 'PUT');
        expect(refused.status).toBe(403);
        expect(refused.headers.get('access-control-allow-origin')).toBeNull();
      }
    }
  });

  test('of a page of the same host name may, on any port and by any name of this machine', async () => {
    await using store = await startTestStore([]);
    for (const origin of [
      'http://127.0.0.1:3000',
      'http://localhost:8080',
      'http://[::1]:3000',
      'https://127.0.0.1',
    ]) {
      const allowed = await preflight(store.endpoint, origin, 'POST');
      expect([origin, allowed.status]).toEqual([origin, 200]);
      expect(allowed.headers.get('access-control-allow-origin')).toBe(origin);
    }
    for (const origin of [
      'http://localhost.evil.example:3000',
      'http://127.0.0.1.evil.example',
      'http://evil@10.0.0.1',
    ])
      expect((await preflight(store.endpoint, origin, 'POST')).status).toBe(403);
  });

  test('of any origin may, where * is configured', async () => {
    await using store = await startTestStore(['*']);
    const allowed = await preflight(store.endpoint, 'https://any.example', 'POST');
    expect(allowed.headers.get('access-control-allow-origin')).toBe('*');
    expect((await preflight(store.endpoint, 'https://any.example', 'PATCH')).status).toBe(403);
  });
});
