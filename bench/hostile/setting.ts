// The service as users start it, with one of everything that routes need to find before they read a body.

import { postFile } from '../../test/acceptance/support/uploads.ts';
import { eventually } from '../../test/support/child.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../test/support/service.ts';
import { fillStore, READS_FILES } from './fill.ts';
import { type Callers, listTargets, type Target } from './routes.ts';

export type Setting = AsyncDisposable & {
  service: RunningService;
  url: URL;
  store: URL;
  targets: readonly Target[];
  /** A whole upload: form, file, confirm. The statuses of the three. */
  upload(): Promise<number[]>;
  /** A URL of the store that answers a small file. */
  download: URL;
};

const CHANNEL = { channel: 'web', channel_plugin: 'widget', channel_id: 'site' };
const SESSION = 'hostile-session';
const BOT = 'hostile-bot';

/** `filled`: with long texts in many scripts. */
export async function startSetting({ filled = false } = {}): Promise<Setting> {
  const reads = filled ? READS_FILES : {};
  const service = await startService({
    environment: { BUN_CONFIG_MAX_HTTP_REQUESTS: '16384', LOG_LEVEL: 'error', ...reads },
    postgres: 'embedded',
  });
  if (filled) await fillStore(service.url);
  const ask = async (method: string, path: string, json?: unknown, key = BOOTSTRAP_KEY): Promise<Response> =>
    fetch(`${service.url}${path}`, {
      method,
      headers: { APIKeyHeader: key, 'svc-key': key, 'content-type': 'application/json', connection: 'close' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
  const must = async (answer: Promise<Response>): Promise<Record<string, unknown>> => {
    const response = await answer;
    if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const upload = async (): Promise<number[]> => {
    const form = await ask('GET', `/v1/${WORKSPACE}/presigned/url`);
    if (!form.ok) return [form.status];
    const descriptor = (await form.json()) as { url: string; fields: Record<string, string> };
    const posted = await postFile(descriptor, 'content');
    const confirm = { temp_key: descriptor.fields['key'], document_metadata: { name: 'hostile.txt' } };
    const confirmed = await ask('POST', `/v1/${WORKSPACE}/upload/confirm`, confirm);
    return [form.status, posted.status, confirmed.status];
  };
  await eventually('an upload', async () => (await upload()).at(-1) === 201);
  const places = await createPlaces(must, ask);
  const keys = new Map<string, Promise<string>>();
  const createKey = async (scope: string): Promise<string> => {
    const made = await must(
      ask('POST', `/admin/api/workspaces/${WORKSPACE}/keys`, { name: scope, scopes: [scope] }),
    );
    return String(made['key']);
  };
  const callers: Callers = {
    keyWith(scope) {
      const key = keys.get(scope) ?? createKey(scope);
      keys.set(scope, key);
      return key;
    },
  };
  const { url } = (await must(ask('GET', `/v1/${WORKSPACE}/presigned/url`))) as { url: string };
  const { id } = await must(ask('GET', `/v1/metadata/${WORKSPACE}/hostile.txt/detail`));
  const download = await ask('GET', `/v1/${WORKSPACE}/file/${id}/download/url`);
  return {
    service,
    download: new URL((await download.json()) as string),
    url: new URL(service.url),
    store: new URL(url),
    targets: await listTargets(places, callers),
    upload,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

type Must = (answer: Promise<Response>) => Promise<Record<string, unknown>>;
type Ask = (method: string, path: string, json?: unknown) => Promise<Response>;

/** One of everything that has to exist for a route to get further than 404. */
async function createPlaces(must: Must, ask: Ask): Promise<Record<string, string>> {
  const { channel, channel_plugin: plugin, channel_id: id } = CHANNEL;
  const session = await must(
    ask('POST', `/api/v1/chat/messages/create-chat-session/${WORKSPACE}/${channel}/${plugin}/${id}`, {
      agi_id: 'hostile',
      channel_session_id: SESSION,
    }),
  );
  const sent = await must(
    ask(
      'POST',
      `/api/v1/chat/messages/send-message/${WORKSPACE}/${channel}/${plugin}/${id}/bychannelsession/${SESSION}`,
      { message: 'Good morning', channel_user_message_id: 'u', channel_assistant_message_id: 'a' },
    ),
  );
  await must(ask('PUT', `/admin/api/workspaces/${WORKSPACE}/bots/${BOT}`, { verification: { mode: 'key' } }));
  return {
    ...CHANNEL,
    workspace_id: WORKSPACE,
    document: 'hostile.txt',
    channel_session_id: SESSION,
    chat_session_id: String(session['chat_session_id']),
    message_id: String(sent['message_id']),
    bot_id: BOT,
    agent_id: 'hostile-agent',
    model_id: 'local-echo',
  };
}
