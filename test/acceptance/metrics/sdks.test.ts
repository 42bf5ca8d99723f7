// The official CloudEvents SDKs of Python and Go, unmodified, each in the modes that it knows. (That of npm stands in
// ingestion.test.ts.)

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { startChild } from '../../support/child.ts';
import { findGoProgram, missingGoProgram } from '../../support/go-programs.ts';
import { findPython, missingPython } from '../../support/python-sdk.ts';
import { shared } from '../../support/shared.ts';
import { createFreshMetrics, freshSource } from '../support/metrics.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());

const SDKS = [
  {
    name: 'Python',
    missing: missingPython(),
    command: () => [findPython() ?? '', join(import.meta.dir, 'sdks/send.py')],
    sent: ['binary', 'structured'],
  },
  {
    name: 'Go',
    missing: missingGoProgram('cloudevents-sender'),
    command: () => [findGoProgram('cloudevents-sender') ?? ''],
    sent: ['binary', 'structured', 'untyped'],
  },
];

for (const { name, missing, command, sent } of SDKS) {
  const title = `events of the SDK of ${name} are taken as it sends them`;
  test.skipIf(missing !== undefined)(missing === undefined ? title : `${title} (${missing})`, async () => {
    const metrics = await createFreshMetrics(setting)();
    const source = freshSource();
    const child = startChild(command(), {
      environment: { URL: `${setting.url}${metrics.root}/events`, KEY: metrics.key, SOURCE: source },
    });
    expect({ code: await child.exited, output: child.output() }).toEqual({ code: 0, output: '' });
    const items = await metrics.stored(source, sent.length);
    expect(items.map(({ event_id }) => event_id).sort()).toEqual(sent);
    for (const item of items) {
      expect(item).toMatchObject({
        subject: 'bob@example.com',
        data: { value: '1', message_id: 7, chat_session_id: 17 },
      });
    }
  });
}
