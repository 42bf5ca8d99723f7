// Bots: what verifying the token of an event costs beside the bare check of its signature.

import { measureVerification } from './verification.ts';

export async function run(): Promise<void> {
  await measureVerification();
}
