// Settings: what is refused, and in which words; what they are.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { eventually, freePort, startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { MAIN } from '../support/service.ts';
import { bodyOf } from './support/caller.ts';
import { startSetting } from './support/setting.ts';
import { startInVain } from './support/starts.ts';

describe('settings', () => {
  const SECRET = 'the-secret-that-nobody-may-see';
  const REFUSED: [environment: Record<string, string>, tells: RegExp][] = [
    [{ PORT: 'http' }, /PORT.*"http".*0 to 65535/],
    [{ PORT: '65536' }, /PORT.*"65536".*0 to 65535/],
    [{ PORT: '-1' }, /PORT.*"-1"/],
    [{ PORT: '3000.5' }, /PORT.*"3000\.5"/],
    [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL.*"loud".*debug, info, warn, error, silent/],
    [{ LOG_FORMAT: 'xml' }, /LOG_FORMAT.*"xml".*json, pretty/],
    [{ UPLOAD_BYTES_MAX: '6GB' }, /UPLOAD_BYTES_MAX.*"6GB".*integer.*5GB or 1GiB/],
    [{ TRASH_RETENTION_DAYS: '12h' }, /TRASH_RETENTION_DAYS.*"12h".*whole days/],
    [
      { STRICT_SETTINGS: 'true', DATABSE_URL: SECRET },
      /^atrium: DATABSE_URL is no setting; did you mean DATABASE_URL\?/,
    ],
    [{ TRASH_RETENTION_DAYS: '-1' }, /TRASH_RETENTION_DAYS.*"-1"/],
    [{ SHUTDOWN_TIMEOUT_MS: 'soon' }, /SHUTDOWN_TIMEOUT_MS.*"soon"/],
    [{ PROCESSES: '0' }, /PROCESSES.*"0"/],
    [{ COMPUTE_THREADS: '0' }, /COMPUTE_THREADS.*"0".*1 to 256/],
    [{ COMPUTE_QUEUE_MAX: 'none' }, /COMPUTE_QUEUE_MAX.*"none".*integer/],
    [{ PROCESSES: '2' }, /PORT=0.*PROCESSES/],
    [{ CORS_ORIGINS: 'https://a.example,b.example' }, /CORS_ORIGINS.*b\.example.*origins/],
    [{ DATABASE_URL: `mysql://user:${SECRET}@host/db` }, /DATABASE_URL.*postgres:/],
    [{ S3_ENDPOINT: 'ftp://host' }, /S3_ENDPOINT.*"ftp:\/\/host".*http/],
    [
      { S3_ENDPOINT: 'http://127.0.0.1:9', S3_ACCESS_KEY_ID: 'x' },
      /S3_ENDPOINT needs .*S3_SECRET_ACCESS_KEY/,
    ],
    [{ S3_SECRET_ACCESS_KEY: SECRET }, /S3_SECRET_ACCESS_KEY.*S3_ENDPOINT/],
    [{ S3_BUCKET: 'Not_A_Bucket' }, /S3_BUCKET.*"Not_A_Bucket"/],
    [{ S3_FORM_PROFILE: 'azure' }, /S3_FORM_PROFILE.*"azure".*standard, aws, seaweedfs/],
    [{ BOOTSTRAP_API_KEY: 'the-secret-that-is-too-short' }, /BOOTSTRAP_API_KEY.*at least 32/],
    [{ BOOTSTRAP_WORKSPACE: 'metadata' }, /BOOTSTRAP_WORKSPACE.*metadata.*reserved/],
    [{ BOOTSTRAP_WORKSPACE: 'No Spaces' }, /BOOTSTRAP_WORKSPACE.*No Spaces/],
  ];

  test.each(REFUSED)('%j are refused with one line', async (environment, tells) => {
    const { code, output } = await startInVain({
      DATA_DIR: join(freshFolder(), 'data'),
      LOG_LEVEL: 'error',
      ...environment,
    });
    expect(code).not.toBe(0);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toMatch(tells);
    expect(output).not.toContain('the-secret');
  });

  test('that are wrong are all told at once, a line each', async () => {
    const models = join(freshFolder(), 'absent.yaml');
    const told = async (environment: Record<string, string>) => {
      const { code, output } = await startInVain({ DATA_DIR: join(freshFolder(), 'data'), ...environment });
      expect(code).toBe(2);
      return output
        .trim()
        .split('\n')
        .map((line) => /^atrium: (\w+)/.exec(line)?.[1]);
    };
    const values = {
      LOG_LEVEL: 'loud',
      UPLOAD_BYTES_MAX: 'much',
      S3_ENDPOINT: 'ftp://host',
      NATS_CREDS: models,
    };
    // The keys of the store need no S3_ENDPOINT that is refused already.
    const others = { S3_ACCESS_KEY_ID: 'a', MEILI_API_KEY_FILE: models, OIDC_NAME: 'x', OIDC_ROLES: '{' };
    expect((await told({ ...values, ...others, STRICT_SETTINGS: 'true', PROT: '1' })).sort()).toEqual([
      'LOG_LEVEL',
      'MEILI_API_KEY_FILE',
      'NATS_CREDS',
      'OIDC_NAME',
      'OIDC_ROLES',
      'OIDC_ROLES',
      'PROT',
      'S3_ENDPOINT',
      'UPLOAD_BYTES_MAX',
    ]);
    const files = { MODELS_CONFIG: models, NATS_URL: 'nats://127.0.0.1:9', NATS_CREDS: models };
    expect(await told(files)).toEqual(['MODELS_CONFIG', 'NATS_CREDS']);
  });

  test('that are misspelt are told with a warning, without their value', async () => {
    const setting = await startSetting({ DATABSE_URL: SECRET, TRASH_RETENTION: '7' });
    await using service = setting.service;
    const lines = service.child.output();
    expect(lines).toContain('DATABSE_URL is no setting; did you mean DATABASE_URL?');
    expect(lines).toContain('TRASH_RETENTION is no setting');
    expect(lines).not.toContain(SECRET);
  });

  test('are listed by --help, with their defaults', async () => {
    const names =
      'HOST PORT DATA_DIR DATABASE_URL S3_ENDPOINT S3_REGION S3_BUCKET S3_ACCESS_KEY_ID S3_SECRET_ACCESS_KEY S3_PUBLIC_ENDPOINT ' +
      'S3_FORM_PROFILE OBJECT_STORE_PORT UPLOAD_BYTES_MAX TRASH_RETENTION_DAYS CORS_ORIGINS BOOTSTRAP_WORKSPACE BOOTSTRAP_API_KEY ' +
      'LOG_LEVEL LOG_FORMAT SHUTDOWN_TIMEOUT_MS PROCESSES';
    const { code, output } = await startInVain({ DATA_DIR: join(freshFolder(), 'data') }, '--help');
    expect(code).toBe(0);
    for (const name of names.split(' ')) expect(output).toMatch(new RegExp(`^ +${name} +\\S`, 'm'));
    expect(output).toMatch(/^ +PORT +3000 /m);
  });

  test('an unusable data folder is refused with one line', async () => {
    const folder = freshFolder();
    const file = join(folder, 'file');
    await Bun.write(file, 'not a folder');
    const { code, output } = await startInVain({ DATA_DIR: file, LOG_LEVEL: 'error' });
    expect(code).not.toBe(0);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(file);
  });

  test('a database that cannot be reached is waited for, and named without its password', async () => {
    const DATABASE_URL = `postgres://user:${SECRET}@127.0.0.1:${freePort()}/db`;
    const environment = { PORT: '0', DATA_DIR: freshFolder(), DATABASE_URL, LOG_FORMAT: 'json' };
    const child = startChild([process.execPath, MAIN], { environment });
    await eventually('the complaint', () => /database is not reachable yet/.test(child.output()));
    child.kill('SIGKILL');
    await child.exited;
    expect(child.output()).not.toContain(SECRET);
  });

  test('CORS_ORIGINS lets those origins read answers and upload, and no others', async () => {
    const origin = 'https://app.example.com';
    const setting = await startSetting({ CORS_ORIGINS: origin });
    await using service = setting.service;
    const path = `/v1/${setting.workspace}/presigned/url`;
    const preflight = (from: string) =>
      fetch(service.url + path, {
        method: 'OPTIONS',
        headers: {
          origin: from,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'apikeyheader',
        },
      });
    const allowed = await preflight(origin);
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin);
    expect(allowed.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('apikeyheader');
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();

    const answer = await setting.call('GET', path, { key: setting.adminKey, headers: { origin } });
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    const exposed = answer.headers.get('access-control-expose-headers') ?? '';
    for (const name of [
      'retry-after',
      'idempotent-replayed',
      'atrium-model-target',
      'x-ratelimit-remaining-tokens',
    ])
      expect(exposed).toContain(name);
    const { url } = bodyOf<{ url: string }>(answer, 201);
    const upload = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect(upload.headers.get('access-control-allow-origin')).toBe(origin);
  });
});
