// Chat apps as a bot meets them: platforms that sign with keys of their own, the URL of their keys, and their events.

import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { type Answer, bodyOf, expectStatus } from './caller.ts';
import type { Setting } from './setting.ts';

export const PLATFORM = 'chat@system.gserviceaccount.com';
export const PROJECT = '123456789012';

export type Signer = {
  kid: string;
  jwk: JWK;
  privateKey: CryptoKey;
  /** A token of the platform for a project; `claims` replace its own, and undefined takes one away. */
  token(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
};

const seconds = (): number => Math.floor(Date.now() / 1000);

export async function createSigner(kid: string = crypto.randomUUID()): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' };
  return {
    kid,
    jwk,
    privateKey,
    token(claims = {}, header = {}) {
      const payload = { iss: PLATFORM, aud: PROJECT, iat: seconds(), exp: seconds() + 3600, ...claims };
      return new SignJWT(payload as JWTPayload)
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid, ...header })
        .sign(privateKey);
    },
  };
}

/** Claims of an identity token for the URL of a webhook. */
export const identityFor = (audience: string): Record<string, unknown> => ({
  iss: 'https://accounts.google.com',
  aud: audience,
  email: PLATFORM,
  email_verified: true,
});

export type KeyServer = Disposable & {
  url: string;
  /** How often it was asked. */
  asked(): number;
  /** From now on it answers so; by default with the keys. */
  behave(answer: (() => Response | Promise<Response>) | undefined): void;
  publish(keys: readonly JWK[]): void;
};

/** Serves a key set on loopback. */
export function serveKeys(...signers: readonly Signer[]): KeyServer {
  let keys: readonly JWK[] = signers.map(({ jwk }) => jwk);
  let behaviour: (() => Response | Promise<Response>) | undefined;
  let asked = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      asked++;
      return behaviour?.() ?? Response.json({ keys });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/keys`,
    asked: () => asked,
    behave(answer) {
      behaviour = answer;
    },
    publish(published) {
      keys = published;
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}

export type BotClient = {
  id: string;
  path: string;
  put(registration: object): Promise<Answer>;
  /** Sends an event with this as the header `authorization`. */
  send(event: object, authorization: string): Promise<Answer>;
};

export function createBotClient(
  { call, workspace, adminKey }: Pick<Setting, 'call' | 'workspace' | 'adminKey'>,
  id = `bot-${crypto.randomUUID()}`,
): BotClient {
  const path = `/chatapp/${workspace}/${id}`;
  return {
    id,
    path,
    put: (json) => call('PUT', `/admin/api/workspaces/${workspace}/bots/${id}`, { key: adminKey, json }),
    send: (json, authorization) => call('POST', path, { headers: { authorization }, json }),
  };
}

/** A registered bot that verifies the tokens of a project by these keys. */
export async function registerBot(
  setting: Parameters<typeof createBotClient>[0],
  jwks: unknown,
  more: object = {},
): Promise<BotClient> {
  const bot = createBotClient(setting);
  const verification = { mode: 'project_number', audience: PROJECT, jwks };
  expectStatus(await bot.put({ verification, ...more }), 200);
  return bot;
}

export const USER = {
  name: 'users/1001',
  displayName: 'Ada Lovelace',
  avatarUrl: 'https://chat.example/ada.png',
  email: 'Ada@Example.com',
  type: 'HUMAN',
  domainId: 'example',
};
export const DIRECT = { name: 'spaces/direct', type: 'DM', singleUserBotDm: true };

let messages = 0;

/** A message to a bot, complete as the interface lists it. */
export function messageEvent(text: string, message: object = {}, event: object = {}): object {
  const name = `spaces/direct/messages/${process.pid}.${++messages}`;
  return {
    type: 'MESSAGE',
    eventTime: new Date().toISOString(),
    message: {
      name,
      createTime: new Date().toISOString(),
      text,
      argumentText: ` ${text}`,
      sender: USER,
      space: DIRECT,
      thread: { name: `spaces/direct/threads/${messages}` },
      ...message,
    },
    user: USER,
    space: DIRECT,
    configCompleteRedirectUrl: 'https://chat.example/configured',
    common: { userLocale: 'en', hostApp: 'CHAT' },
    ...event,
  };
}

/** Another event: without a message, as real ones are. */
export const spaceEvent = (type: string, more: object = {}): object => ({
  type,
  eventTime: new Date().toISOString(),
  user: USER,
  space: DIRECT,
  ...more,
});

/** An event in the format of add-ons, complete as the platform sends it; `payload` names the kind of event. */
export const addOnEvent = (payload: string, fields: object = {}, more: object = {}): object => ({
  commonEventObject: {
    userLocale: 'en',
    hostApp: 'CHAT',
    platform: 'WEB',
    timeZone: { id: 'Europe/Berlin', offset: 3600000 },
    ...more,
  },
  authorizationEventObject: { userOAuthToken: 'x', systemIdToken: 'x' },
  chat: { user: USER, eventTime: new Date().toISOString(), [payload]: { space: DIRECT, ...fields } },
});

/** A message to a bot, in the format of add-ons. */
export function addOnMessage(text: string, fields: object = {}): object {
  const { message } = messageEvent(text, fields) as { message: object };
  return addOnEvent('messagePayload', {
    message,
    configCompleteRedirectUri: 'https://chat.example/configured',
  });
}

/** The text of a reply in the format of add-ons that has to say something, and nothing else. */
export function addOnTextOf(answer: Answer): string {
  const { hostAppDataAction, ...rest } = bodyOf<{
    hostAppDataAction: { chatDataAction: { createMessageAction: { message: { text: string } } } };
  }>(answer, 200);
  const { text } = hostAppDataAction.chatDataAction.createMessageAction.message;
  const whole = { hostAppDataAction: { chatDataAction: { createMessageAction: { message: { text } } } } };
  if (!Bun.deepEquals({ hostAppDataAction, ...rest }, whole))
    throw new Error(`more was said: ${answer.text}`);
  return text;
}

export type Reply = { text?: string; actionResponse?: { type: string } };

/** The reply of an event that has to be taken. */
export function replyOf(answer: Answer): Reply {
  expectStatus(answer, 200);
  return JSON.parse(answer.text) as Reply;
}

export const isReplay = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true';
