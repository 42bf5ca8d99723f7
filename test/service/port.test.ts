// One service has a port, however many start on it at once.

import { expect, test } from 'bun:test';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort } from '../support/child.ts';

const CLAIMANT = join(import.meta.dir, '../support/port-claimant.ts');
const ROUNDS = 2;
/** So long that the services come between one another; and so long that a test sees the claim before its end. */
const LISTENS_AFTER_MS = 80;
const NEVER_LISTENS_MS = 3_600_000;

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.family === 'IPv6');
const HOSTS = ['0.0.0.0', '127.0.0.1', '127.0.0.1', ...(hasIpv6 ? ['::'] : [])];

function startClaimant(hostname: string, listensAfterMs = LISTENS_AFTER_MS) {
  const child = Bun.spawn([process.execPath, CLAIMANT, hostname, `${listensAfterMs}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  return {
    /** Its answer to a line. */
    async ask(line: string): Promise<string> {
      child.stdin.write(`${line}\n`);
      await child.stdin.flush();
      return ((await lines.read()).value ?? '').trim();
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

test(`of services that start at once on ${HOSTS.join(', ')}, one has the port`, async () => {
  await using stack = new AsyncDisposableStack();
  const services = HOSTS.map((hostname) => stack.use(startClaimant(hostname)));
  const askAll = (line: string) => Promise.all(services.map((service) => service.ask(line)));
  expect(new Set(await askAll('0'))).toEqual(new Set(['left']));
  for (let round = 0; round < ROUNDS; round++) {
    const port = freePort();
    const answers = await askAll(`${port}`);
    expect(answers.filter((answer) => answer === 'serves')).toHaveLength(1);
    for (const answer of answers) expect(answer).toMatch(new RegExp(`^serves$|^PORT: ${port} is in use on `));
    await askAll('0');
  }
});

test('services on different addresses of one machine may have one port', async () => {
  await using first = startClaimant('127.0.0.1');
  await using second = startClaimant('127.0.0.2');
  const port = `${freePort()}`;
  expect(await Promise.all([first.ask(port), second.ask(port)])).toEqual(['serves', 'serves']);
});

test('a service that is killed while it claims a port leaves it to the next one', async () => {
  const port = `${freePort()}`;
  await using next = startClaimant('127.0.0.1');
  {
    await using killed = startClaimant('0.0.0.0', NEVER_LISTENS_MS);
    await killed.ask('0');
    void killed.ask(port);
    // Its claim is an abstract socket, unix(7).
    await eventually('the claim', async () =>
      (await Bun.file('/proc/net/unix').text()).includes(`@atrium-port-${port}\n`),
    );
  }
  expect(await next.ask(port)).toBe('serves');
});
