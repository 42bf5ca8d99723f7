// The port that the service listens on, as a start finds it.

import { SettingsError } from '../core/settings-reader.ts';

type Address = { hostname: string; port: number };

/** A process that was killed a moment ago may still have the port. */
const PORT_WAIT_MS = 1000;
const PORT_RETRY_MS = 50;

/**
 * Takes the port for this process alone: no other process can listen there until it is released, sharing it or not, and
 * it cannot be taken while any process listens there. Connections that are made meanwhile are reset. Throws one line that
 * names the setting: SettingsError, or Error for a port that cannot be had.
 */
export async function holdPort(setting: string, address: Address): Promise<{ release(): void }> {
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

/** The reason why it cannot be listened on: SettingsError, or Error for a port that cannot be had. */
export function explainPort(setting: string, { hostname, port }: Address, error: unknown): Error {
  if (codeOf(error) === 'EADDRINUSE') {
    return new Error(
      `${setting}: ${port} is in use on ${hostname} (is the service running already?); set another, or 0 for a free one`,
    );
  }
  if (codeOf(error) === 'EACCES')
    return new Error(`${setting}: ${port} needs privileges that this process does not have; set another`);
  return new SettingsError(
    `HOST: ${JSON.stringify(hostname)} is no address of this machine; set 127.0.0.1, or 0.0.0.0 for all of them`,
  );
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;
