// A service that consists of its port: for each line, a port number, it claims the port on the given address and says whether
// it serves there; it leaves the port at the next line.

import { claimPort } from '../../src/processes/port.ts';

const hostname = process.argv[2] ?? '';
/** What a process takes from being asked to listen until it does so. Another service must not come between. */
const listensAfterMs = Number(process.argv[3]);
let server: Bun.Server<undefined> | undefined;
for await (const line of console) {
  await server?.stop(true);
  server = undefined;
  const port = Number(line);
  if (port === 0) {
    console.log('left');
    continue;
  }
  const listen = async (): Promise<void> => {
    await Bun.sleep(listensAfterMs);
    server = Bun.serve({ hostname, port, reusePort: true, fetch: () => new Response() });
  };
  const outcome = await claimPort('PORT', { hostname, port }, listen).then(
    () => 'serves',
    (error: Error) => error.message,
  );
  console.log(outcome);
}
process.exit(0);
