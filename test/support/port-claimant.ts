// A service that consists of its port: for each line, a port number, it claims the port on the given address and says whether
// it serves there; it leaves the port at the next line.

import { claimPort } from '../../src/processes/port.ts';

/** What a process takes from being told to listen until it does so. Another service must not come between. */
const LISTENS_AFTER_MS = 80;

const hostname = process.argv[2] ?? '';
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
    await Bun.sleep(LISTENS_AFTER_MS);
    server = Bun.serve({ hostname, port, reusePort: true, fetch: () => new Response() });
  };
  const outcome = await claimPort('PORT', { hostname, port }, listen).then(
    () => 'serves',
    (error: Error) => error.message,
  );
  console.log(outcome);
}
process.exit(0);
