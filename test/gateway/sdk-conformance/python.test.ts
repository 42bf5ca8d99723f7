// The official SDK of PyPI, unmodified, with a base URL and a key. What is tested stands in python/conformance.py.

import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../../support/child.ts';
import { once } from '../../support/once.ts';
import { findPython, missingPython } from '../../support/python-sdk.ts';
import { endPlaces, enterPlace, kindOf, PLACES, type PlaceName } from './place.ts';

const SCRIPT = join(import.meta.dir, 'python/conformance.py');
const source = readFileSync(SCRIPT, 'utf8');
const NAMES = [...source.matchAll(/^def (test_\w+)/gm)].map(([, name = '']) => name);

const missing = missingPython();

afterAll(endPlaces);

/** What each test ended with: null is well. Those that do not apply are absent. */
async function run(name: PlaceName): Promise<Map<string, string | null>> {
  const python = findPython();
  if (python === undefined) throw new Error(missing);
  const { baseUrl, key, mock, model } = await enterPlace(name);
  const child = startChild([python, SCRIPT], {
    environment: {
      BASE_URL: baseUrl,
      API_KEY: key,
      MOCK_URL: mock.url,
      KIND: kindOf(name),
      MODEL_PREFIX: model(''),
      EMBEDDING_MODEL: model('embed'),
      IS_GATEWAY: String(key !== 'any'),
    },
  });
  if ((await child.exited) !== 0) throw new Error(child.output());
  const lines = child.output().trim().split('\n');
  const results = lines.map((line) => JSON.parse(line) as { name: string; error: string | null });
  return new Map(results.map((result) => [result.name, result.error]));
}

for (const name of PLACES) {
  describe.skipIf(missing !== undefined)(missing === undefined ? name : `${name} (${missing})`, () => {
    const results = once(() => run(name));

    test('most of it applies', async () => {
      expect((await results()).size).toBeGreaterThan(15);
    });

    for (const each of NAMES)
      test(each.replace(/^test_/, '').replaceAll('_', ' '), async () => {
        expect((await results()).get(each) ?? null).toBeNull();
      });
  });
}
