// What a reader is kept from: the network, the rights of the service, its environment.

import { expect, test } from 'bun:test';
import { readFileSync, readlinkSync } from 'node:fs';
import type { Confinement } from '../../../src/documents/content/protocol.ts';
import { createReader } from '../../../src/documents/content/reader-process.ts';

const given = { text: 'The seal leaks.', format: 'text' as const };
const request = { source: given, name: 'a.txt', contentType: '', language: null, bytesMax: 1000 };

type Seen = { confinement: Confinement; ownNetwork: boolean; status: string };

/** Looks at the process of a reader that has read a text. */
async function look(): Promise<Seen> {
  const confinements: Confinement[] = [];
  const reader = createReader({
    environment: { PATH: process.env['PATH'] },
    started: (confinement) => confinements.push(confinement),
  });
  try {
    return await reader.read(request, async (outcome) => {
      expect(outcome).toMatchObject({ reading: { state: 'ready' } });
      const pid = reader.pid() ?? 0;
      const [confinement] = confinements;
      if (confinement === undefined) throw new Error('the reader has not said what it is kept from');
      return {
        confinement,
        ownNetwork: readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net'),
        status: readFileSync(`/proc/${pid}/status`, 'utf8'),
      };
    });
  } finally {
    reader.end();
  }
}

test.skipIf(process.platform !== 'linux')(
  'a reader says what it is kept from, and is kept from it',
  async () => {
    const { confinement, ownNetwork, status } = await look();
    expect(confinement.offline).toBe(ownNetwork);
    const users = /^Uid:\t(.*)$/m.exec(status)?.[1];
    expect(confinement.nobody).toBe(users === '65534\t65534\t65534\t65534');
  },
);

test.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)(
  'as root on Linux, a reader has no network, the rights of nobody, and no way to more',
  async () => {
    const { confinement, status } = await look();
    expect(confinement).toEqual({ offline: true, nobody: true });
    expect(status).toMatch(/^Gid:\t65534\t65534\t65534\t65534$/m);
    expect(status).toMatch(/^Groups:\s*$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapPrm:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  },
);
