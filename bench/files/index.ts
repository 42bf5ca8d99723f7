// `bun run bench files`: the files that run for each request of a kind, which a reader of its way has to open. A file counts where
// some part of it runs at least once more for each further request.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { upload } from '../../test/acceptance/support/uploads.ts';
import { startMockUpstream } from '../../test/support/mock-upstream.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';
import { modelsFile } from '../gateway/models.ts';
import { printTable } from '../lib/report.ts';
import { type Executions, startProfiled } from './profiled.ts';

/** Sent before the count as well, for what the first requests alone load and make. No background work is done so often meanwhile. */
const REQUESTS = 60;

/** What every area uses is listed, and stands beside the count. */
const SHARED: readonly string[] = ['access', 'core', 'embedded', 'infra'];

const KEYS = { APIKeyHeader: BOOTSTRAP_KEY, 'svc-key': BOOTSTRAP_KEY };
const CHANNEL = `${WORKSPACE}/bench/widget/shop`;
const MESSAGES = '/api/v1/chat/messages';

type Kind = { name: string; filesMax?: number; send(url: string): Promise<unknown> };

const message = (headers: Record<string, string> = {}) => {
  const session = crypto.randomUUID();
  let opened: Promise<void> | undefined;
  return async (url: string): Promise<void> => {
    opened ??= post(`${url}${MESSAGES}/create-chat-session/${CHANNEL}`, {
      agi_id: 'none',
      channel_session_id: session,
    });
    await opened;
    const id = crypto.randomUUID();
    await post(
      `${url}${MESSAGES}/send-message/${CHANNEL}/bychannelsession/${session}`,
      { message: 'Good morning', channel_user_message_id: id, channel_assistant_message_id: `${id}-answer` },
      headers,
    );
  };
};

const KINDS: readonly Kind[] = [
  {
    name: 'form and confirm',
    filesMax: 20,
    async send(url) {
      const described = await fetch(`${url}/v1/${WORKSPACE}/presigned/url`, { headers: KEYS });
      const descriptor = (await described.json()) as { url: string; fields: Record<string, string> };
      await upload(descriptor, 'one small file');
      await post(`${url}/v1/${WORKSPACE}/upload/confirm`, {
        temp_key: descriptor.fields['key'],
        document_metadata: { name: 'report.txt', tags: ['t1'] },
      });
    },
  },
  { name: 'filtered search', send: (url) => get(`${url}/v1/filter/${WORKSPACE}?name=eq:report.txt&size=5`) },
  {
    name: 'making a key',
    send: (url) =>
      post(`${url}/admin/api/workspaces/${WORKSPACE}/keys`, { name: 'app', scopes: ['documents:read'] }),
  },
  { name: 'message to the local echo', filesMax: 30, send: message() },
  { name: 'the same, streamed', send: message({ accept: 'text/event-stream' }) },
  {
    name: 'chat completion of an upstream',
    send: (url) =>
      post(`${url}/v1/chat/completions`, {
        model: 'fast',
        messages: [{ role: 'user', content: 'Good morning' }],
      }),
  },
];

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...KEYS, ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}: ${text}`);
}

async function get(url: string): Promise<void> {
  const answer = await fetch(url, { headers: KEYS });
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}: ${await answer.text()}`);
}

export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-files-'));
  try {
    await using upstream = await startMockUpstream();
    const models = join(folder, 'models.yaml');
    await Bun.write(models, `${modelsFile(upstream.url)}defaults: { chat: local-echo }\n`);
    await using service = await startProfiled({ MODELS_CONFIG: models });
    const rows: string[][] = [];
    for (const { name, filesMax, send } of KINDS) {
      const sendAll = async (): Promise<void> => {
        for (let sent = 0; sent < REQUESTS; sent++) await send(service.url);
      };
      await sendAll();
      const before = await service.executions();
      await sendAll();
      const files = growing(before, await service.executions());
      const own = files.filter((path) => !SHARED.includes(folderOf(path)));
      rows.push([name, `${own.length}`, filesMax === undefined ? '' : `≤ ${filesMax}`, `${files.length}`]);
      console.log(`\n${name}`);
      for (const [of, paths] of Map.groupBy(files, folderOf))
        console.log(`  ${of} ${paths.length}: ${paths.map((path) => path.slice(of.length + 1)).join(' ')}`);
    }
    printTable(
      'Files that run for each request',
      ['request', 'files', 'target', `with ${SHARED.join(', ')}`],
      rows,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const growing = (before: Executions, after: Executions): string[] =>
  [...after]
    .filter(([path, blocks]) =>
      [...blocks].some(([place, count]) => count - (before.get(path)?.get(place) ?? 0) >= REQUESTS),
    )
    .map(([path]) => path)
    .sort();

/** The area or other folder of a file, or the file itself where it stands in none. */
const folderOf = (path: string): string => path.split('/')[0] ?? '';
