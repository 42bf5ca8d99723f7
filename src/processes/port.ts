// The port that the service listens on, as a start finds it.

import { SettingsError } from '../core/settings-reader.ts';

type Address = { hostname: string; port: number };

/** A process that was killed a moment ago may still have the port. */
const PORT_WAIT_MS = 1000;
const PORT_RETRY_MS = 50;
/** The start of another service on the same port takes milliseconds at this point. */
const CLAIM_WAIT_MS = 10_000;

/**
 * Takes the port for this process alone: no other process can listen there until it is released, sharing it or not, and
 * it cannot be taken while any process listens there. Connections that are made meanwhile are reset. Throws one line that
 * names the setting: SettingsError, or Error for a port that cannot be had.
 */
export async function holdPort(setting: string, address: Address) {
  const deadline = performance.now() + PORT_WAIT_MS;
  for (;;) {
    try {
      const socket = { open: (client: { terminate(): void }) => client.terminate(), data: () => undefined };
      const listener = Bun.listen({ ...address, socket });
      return { release: () => listener.stop(true) };
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE' || performance.now() > deadline)
        throw explainPort(setting, address, error);
    }
    await Bun.sleep(PORT_RETRY_MS);
  }
}

/**
 * Lets processes listen that share the port with one another, and with no other service: runs `listen`, which resolves once
 * one of them listens or none will, if no process listens there. Only one claim of a port runs at a time on a machine, so that
 * of two services the second one finds the processes of the first. Throws as `holdPort` does, before it runs `listen`.
 */
export async function claimPort(
  setting: string,
  address: Address,
  listen: () => Promise<void>,
): Promise<void> {
  const claim = await lockPort(setting, address);
  try {
    (await holdPort(setting, address)).release();
    await listen();
  } finally {
    claim?.stop(true);
  }
}

/**
 * Linux has abstract sockets, which have a name like the port's: one for all users and folders of a network namespace. The
 * kernel releases it with its process. Elsewhere there is none.
 */
async function lockPort(setting: string, address: Address) {
  const deadline = performance.now() + CLAIM_WAIT_MS;
  while (process.platform === 'linux') {
    try {
      return Bun.listen({ unix: `\0atrium-port-${address.port}`, socket: { data: () => undefined } });
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE') throw error;
      if (performance.now() > deadline) throw explainPort(setting, address, error);
    }
    await Bun.sleep(PORT_RETRY_MS);
  }
  return undefined;
}

/** The reason why it cannot be listened on: SettingsError, or Error for a port that cannot be had. */
export function explainPort(setting: string, { hostname, port }: Address, error: unknown): Error {
  if (codeOf(error) === 'EADDRINUSE')
    return new Error(
      `${setting}: ${port} is in use on ${hostname} (is the service running already?); set another, or 0 for a free one`,
    );
  if (codeOf(error) === 'EACCES')
    return new Error(`${setting}: ${port} needs privileges that this process does not have; set another`);
  return new SettingsError(
    `HOST: ${JSON.stringify(hostname)} is no address of this machine; set 127.0.0.1, or 0.0.0.0 for all of them`,
  );
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;
