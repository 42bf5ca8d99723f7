// An identity provider as a process of its own, which can be killed and stopped: `PORT`, the `ISSUER` under which it is reached,
// the `SERVICE` that it sends people back to, and its `SIGNING_KEY`, which outlives it.

import { startProvider } from '../../support/oidc/provider.ts';

const { PORT = '0', ISSUER = '', SERVICE = '', SIGNING_KEY = '' } = process.env;
const provider = await startProvider({
  host: '127.0.0.1',
  port: Number(PORT),
  issuer: ISSUER,
  signingKey: JSON.parse(SIGNING_KEY),
});
// Each person who signs in has the role that the service of the table knows.
provider.people.set('visitor', {
  email: 'visitor@example.com',
  email_verified: true,
  name: 'A visitor',
  groups: ['people'],
});
provider.register(SERVICE);
console.log('the provider listens');
