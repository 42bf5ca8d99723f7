// Models files that the documentation shows: they load as they stand, and an upstream that is dead is told as such.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseModelsFile } from '../../src/gateway/catalogue/file.ts';
import { startGateway } from '../support/gateway.ts';

const ROOT = join(import.meta.dir, '../..');

const shown = ['README.md', ...new Bun.Glob('docs/**/*.md').scanSync(ROOT)].flatMap((path) =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^```ya?ml\n(.*?)^```$/gms)]
    .map(([, text = '']) => ({ path, text }))
    .filter(({ text }) => /^models:/m.test(text)),
);

/** Every variable is set. */
const variable = (name: string): string => `value-of-${name}`;

test('the guide shows one', () => {
  expect(shown.map(({ path }) => path)).toContain('docs/guides/models.md');
});

for (const { path, text } of shown) {
  test(`${path}: it loads, and no model falls back to one that only repeats what it is told`, () => {
    const { models } = parseModelsFile(text, variable);
    const byId = new Map(models.map((model) => [model.id, model]));
    const fallbacks = models.flatMap((model) => model.fallbacks.map((id) => byId.get(id)));
    expect(fallbacks.length).toBeGreaterThan(0);
    for (const fallback of fallbacks)
      for (const { upstream } of fallback?.targets ?? [])
        expect([fallback?.id, upstream]).not.toContain(undefined);
  });

  test(`${path}: with dead upstreams its models are 502`, async () => {
    const { models } = parseModelsFile(text, variable);
    const dead = text.replaceAll(/https:\/\/[\w.]+/g, 'http://127.0.0.1:1');
    const variables = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, variable(name)]);
    await using gateway = await startGateway(() => dead, Object.fromEntries(variables));
    for (const { id } of models.filter(({ endpoints }) => endpoints.includes('chat'))) {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: id, messages: [{ role: 'user', content: 'hello' }] }),
      });
      expect([id, response.status, await response.json()]).toEqual([
        id,
        502,
        { error: expect.objectContaining({ type: 'upstream_error' }) },
      ]);
    }
  });
}
