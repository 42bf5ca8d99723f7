// What a person sees of a start, the first one and later ones.

import { describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, eventually, freePort, startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { MAIN, startService } from '../support/service.ts';
import { bodyOf, createCaller, expectStatus } from './support/caller.ts';
import { createLibrary, type DocumentRecord, md5 } from './support/library.ts';
import { startInVain, startUnconfigured } from './support/starts.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const keyIn = (output: string): string | undefined => /^ *Key +(\S+)$/m.exec(output)?.[1];

/** Runs the printed lines as they would be pasted into bash. */
async function paste(lines: readonly string[]): Promise<string> {
  const shell = startChild(['bash', '-c', lines.join('\n')]);
  expect(await shell.exited).toBe(0);
  return shell.output();
}

function printedLines(child: Child): string[] {
  const lines = child
    .output()
    .split('\n')
    .map((line) => line.trim());
  const start = lines.findIndex((line) => line.includes('curl'));
  return lines.slice(start, start + 3);
}

describe('the first start', () => {
  test('with nothing configured prints what a newcomer needs, and the three lines work when pasted', async () => {
    const dataDir = join(freshFolder(), 'data');
    await using service = await startUnconfigured(dataDir);
    const output = service.child.output();
    expect(service.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(output).toMatch(/^ *Workspace +default$/m);
    expect(output).toContain(`${service.url}/docs`);
    expect(keyIn(output)).toMatch(/^atr_[0-9A-Za-z]{39}$/);

    const lines = printedLines(service.child);
    for (const line of lines) expect(line).toContain('curl');
    const record = JSON.parse(await paste(lines)) as DocumentRecord;
    const library = createLibrary(createCaller(service.url), { workspace: 'default', key: keyIn(output) });
    expect(record).toMatchObject({ name: 'hello.txt', file_type: 'txt', status: 'private' });
    expect(await library.read('hello.txt')).toEqual(record);
    const content = await (await fetch(await library.link(record.id))).text();
    expect([md5(content), content.length]).toEqual([record.file_hash ?? '', record.file_size ?? 0]);
    expect(content).toContain('Hello');
  });

  test('prints a link that opens the portal signed in, once', async () => {
    await using service = await startUnconfigured(join(freshFolder(), 'data'));
    const link = new URL(/^ *Portal +(\S+)/m.exec(service.child.output())?.[1] ?? '');
    expect(link.origin + link.pathname).toBe(`${service.url}/admin/sign-in`);
    const open = () =>
      fetch(`${service.url}/admin/api/session/link`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ link: link.hash.slice(1) }),
      });
    const opened = await open();
    expect(opened.status).toBe(204);
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    const session = await fetch(`${service.url}/admin/api/session`, { headers: { cookie } });
    expect(await session.json()).toMatchObject({ workspace_id: 'default' });
    expect((await open()).status).toBe(401);
  });

  test('keeps the data folder, and the key in it, for its owner alone', async () => {
    const dataDir = join(freshFolder(), 'data');
    await using service = await startUnconfigured(dataDir);
    expect(modeOf(dataDir)).toBe('700');
    const keyFile = /^ *Key file +(.+)$/m.exec(service.child.output())?.[1] ?? '';
    expect(keyFile).toStartWith(`${dataDir}/`);
    expect(modeOf(keyFile)).toBe('600');
    expect((await Bun.file(keyFile).text()).trim()).toBe(keyIn(service.child.output()) ?? '');
    for (const name of readdirSync(dataDir)) {
      if (name.endsWith('.json')) expect([name, modeOf(join(dataDir, name))]).toEqual([name, '600']);
    }
  });

  test('writes nowhere but into the data folder', async () => {
    const [directory, home] = [freshFolder(), freshFolder()];
    const child = startChild([process.execPath, MAIN], { directory, environment: { PORT: '0', HOME: home } });
    await eventually('the service to listen', () => /listens on (\S+)\s/.exec(child.output())?.[1]);
    await child.stop();
    expect(readdirSync(directory)).toEqual(['data']);
    // Bun itself keeps compiled sources there.
    expect(readdirSync(home).filter((name) => name !== '.bun')).toEqual([]);
  });
});

describe('a start into a log', () => {
  test.each(['1', '2'])(
    'tells where the first key is, and never the key: PROCESSES=%s',
    async (PROCESSES) => {
      const dataDir = join(freshFolder(), 'data');
      const environment = {
        PROCESSES,
        PORT: String(freePort()),
        BOOTSTRAP_WORKSPACE: '',
        BOOTSTRAP_API_KEY: '',
      };
      for (const round of ['first', 'second']) {
        await using service = await startService({
          dataDir,
          environment: { ...environment, LOG_FORMAT: '' },
        });
        const keyFile = join(dataDir, 'first-key');
        const key = (await Bun.file(keyFile).text()).trim();
        expectStatus(await createCaller(service.url)('GET', '/admin/api/status', { key }), 200);
        await service.child.stop();
        const output = service.child.output();
        expect(output).not.toContain(key);
        const lines = output.trimEnd().split('\n');
        const entries = lines.map((line) => JSON.parse(line) as { msg: string; key_file?: string });
        const made = entries.filter(({ msg }) => msg.includes(`it is in the file ${keyFile}`));
        expect(made).toHaveLength(round === 'first' ? 1 : 0);
        const listening = entries.find(({ msg }) => msg.startsWith('Atrium listens on '));
        expect(listening).toMatchObject({
          url: service.url,
          docs: `${service.url}/docs`,
          portal: `${service.url}/admin`,
          key_file: keyFile,
        });
      }
    },
  );
});

describe('a later start', () => {
  test('prints no key, keeps every document, and URLs that were signed before work on', async () => {
    const dataDir = freshFolder();
    let key = '';
    let record: DocumentRecord;
    let link = '';
    {
      await using service = await startUnconfigured(dataDir);
      key = keyIn(service.child.output()) ?? '';
      const library = createLibrary(createCaller(service.url), { workspace: 'default', key });
      record = await library.stored({ name: 'kept.txt', slots: { a: 1 } }, 'kept');
      link = await library.link(record.id);
    }
    await using service = await startUnconfigured(dataDir);
    expect(service.child.output()).not.toContain(key);
    expect(keyIn(service.child.output())).toBeUndefined();
    const library = createLibrary(createCaller(service.url), { workspace: 'default', key });
    expect(await library.read('kept.txt')).toEqual(record);
    expect(await (await fetch(link)).text()).toBe('kept');
    expect(JSON.parse(await paste(printedLines(service.child)))).toMatchObject({ name: 'hello.txt' });
  });

  test('with the same bootstrap workspace and key changes nothing; a revoked bootstrap key stays revoked', async () => {
    const dataDir = freshFolder();
    const key = 'a-bootstrap-key-of-enough-characters';
    const environment = { BOOTSTRAP_WORKSPACE: 'acme', BOOTSTRAP_API_KEY: key };
    const keysOf = async (url: string, by: string) =>
      bodyOf<{ items: { id: string; name: string }[] }>(
        await createCaller(url)('GET', '/admin/api/workspaces/acme/keys', { key: by }),
        200,
      ).items;
    let other = '';
    for (const round of [1, 2]) {
      await using service = await startService({ dataDir, environment });
      expect(service.child.output()).not.toContain(key);
      const [only, ...more] = await keysOf(service.url, key);
      expect(more).toEqual([]);
      if (round === 1) continue;
      const call = createCaller(service.url);
      const json = { name: 'second', scopes: ['admin'] };
      other = bodyOf<{ key: string }>(
        await call('POST', '/admin/api/workspaces/acme/keys', { key, json }),
        201,
      ).key;
      expectStatus(await call('DELETE', `/admin/api/workspaces/acme/keys/${only?.id}`, { key }), 204);
    }
    await using service = await startService({ dataDir, environment });
    expectStatus(await createCaller(service.url)('GET', '/admin/api/status', { key }), 401);
    expect((await keysOf(service.url, other)).map(({ name }) => name)).toEqual(['second']);
  });

  test('beside a running one on the same data folder says so in one line', async () => {
    const dataDir = freshFolder();
    await using service = await startUnconfigured(dataDir);
    const { code, output } = await startInVain({ DATA_DIR: dataDir });
    expect(code).not.toBe(0);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(dataDir);
    expect(output).toContain(String(service.child.pid));
    expectStatus(await createCaller(service.url)('GET', '/readyz'), 200);
  });

  test('on a port that is taken says so in one line', async () => {
    const port = freePort();
    const listener = Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } });
    const { code, output } = await startInVain({
      DATA_DIR: freshFolder(),
      PORT: String(port),
      LOG_LEVEL: 'error',
    });
    listener.stop(true);
    expect(code).not.toBe(0);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(String(port));
  });
});
