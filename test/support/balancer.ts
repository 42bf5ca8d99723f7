// HAProxy with deploy/haproxy.cfg, for a test: on loopback, before servers that are listed instead of looked up.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { eventually, freePort, startChild } from './child.ts';
import { freshFolder } from './folders.ts';

const CONFIGURATION = resolve(import.meta.dir, '../../deploy/haproxy.cfg');
const BACKEND = 'atrium';

/** Undefined where it is not installed. */
export const haproxy = Bun.which('haproxy', { PATH: `${process.env['PATH']}:/usr/sbin` }) ?? undefined;

export type Balancer = AsyncDisposable & {
  url: string;
  /** What it says of a server: `UP`, `DOWN`, `DRAIN` and so on; and how many requests it answers. */
  look(server: string): Promise<{ state: string; running: number }>;
  /** With `drain` a server gets no new requests, whatever it says at /readyz; with `ready` it is as its checks say. */
  set(server: string, state: 'drain' | 'ready'): Promise<void>;
};

/** Starts it before servers on loopback, by name and port. */
export async function startBalancer(servers: Record<string, number>): Promise<Balancer> {
  const port = freePort();
  const folder = freshFolder();
  const socket = join(folder, 'runtime');
  const lines = Object.entries(servers).map(([name, at]) => `server ${name} 127.0.0.1:${at}`);
  const text = readFileSync(CONFIGURATION, 'utf8')
    .replace('global\n', `global\n  stats socket ${socket} mode 600 level admin\n`)
    .replace('bind :3000', `bind 127.0.0.1:${port}`)
    .replace(/resolvers docker\n( .*\n)+/, '')
    .replace(/ resolvers docker init-addr none/, '')
    .replace(/server-template .*/, lines.join('\n  '));
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, text);
  const child = startChild([haproxy ?? '', '-db', '-f', file]);
  const balancer: Balancer = {
    url: `http://127.0.0.1:${port}`,
    async look(server) {
      const [header = '', ...rows] = (await ask(socket, `show stat ${BACKEND} 4 -1`)).trim().split('\n');
      const columns = header.replace('# ', '').split(',');
      const row = rows
        .map((each) => each.split(','))
        .find((each) => each[columns.indexOf('svname')] === server);
      return {
        state: row?.[columns.indexOf('status')] ?? 'unknown',
        running: Number(row?.[columns.indexOf('scur')] ?? 0),
      };
    },
    async set(server, state) {
      const answer = (await ask(socket, `set server ${BACKEND}/${server} state ${state}`)).trim();
      if (answer !== '') throw new Error(answer);
    },
    [Symbol.asyncDispose]: () => child.stop(),
  };
  const isThere = () => ask(socket, 'show info').then(Boolean, () => false);
  try {
    await eventually('the balancer to start', isThere);
    return balancer;
  } catch (error) {
    await child.stop();
    throw new Error(`${error}: ${child.output()}`);
  }
}

/** One command of the runtime interface, and its answer. */
async function ask(socket: string, command: string): Promise<string> {
  const { promise, resolve: end, reject } = Promise.withResolvers<string>();
  let text = '';
  const connection = await Bun.connect({
    unix: socket,
    socket: {
      data(_, bytes) {
        text += bytes.toString();
      },
      close: () => end(text),
      error: (_, error) => reject(error),
    },
  });
  connection.write(`${command}\n`);
  return promise;
}
