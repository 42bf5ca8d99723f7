// The settings in force and the versions, for operators.

import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { SettingInForce } from '../core/settings-reader.ts';
import type { Http } from './http.ts';
import { answer } from './input.ts';
import { component, flag, nullable, text } from './schemas.ts';

export type SettingsDeps = {
  settings: readonly SettingInForce[];
  /** By the names of the parts; null for a part that cannot be asked. */
  versions(): Promise<Record<string, string | null>>;
};

const SettingRead = component('Setting', 'A setting in force.', {
  name: text('The variable.'),
  meaning: text('What it is for.'),
  value: nullable(
    Type.String(),
    'What is in force; null where nothing is set, and of secrets. A URL has no user, password and query.',
  ),
  default: text('What is in force where nothing is set.'),
  is_set: flag('Whether the environment sets it.'),
  is_secret: flag('Whether it can contain a secret.'),
});

const ServiceSettings = component('ServiceSettings', 'How the service was started.', {
  versions: Type.Record(Type.String(), nullable(Type.String()), {
    description:
      'Of the service, its runtime, the database and its schema; null for one that cannot be asked.',
  }),
  settings: Type.Array(SettingRead, { description: 'In the order of `--help`.' }),
});

export const createSettings = ({ plugin }: Http, { settings, versions }: SettingsDeps) =>
  new Elysia({ name: 'settings', tags: ['administration'] })
    .use(plugin)
    .get('/admin/api/settings', async () => ({ versions: await versions(), settings: [...settings] }), {
      key: { in: 'administration', scope: 'operator' },
      response: {
        200: answer({
          description: 'Settings and versions.',
          schema: ServiceSettings,
          example: {
            versions: { atrium: '0.1.0', bun: '1.4.5', postgres: '18.4', schema: '0011-trends.sql' },
            settings: [
              {
                name: 'PORT',
                meaning: 'port to listen on',
                value: '8080',
                default: '3000',
                is_set: true,
                is_secret: false,
              },
            ],
          },
        }),
      },
      detail: {
        operationId: 'admin.settings',
        summary: 'The settings in force and the versions, without secrets',
      },
    });
