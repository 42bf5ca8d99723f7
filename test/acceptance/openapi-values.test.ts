// What the OpenAPI document gives as a default, an example or a choice is what the service takes: programs fill forms
// with it, and people press Execute.

import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { eventually } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { readDocument } from './support/contract.ts';
import { createExampleCheck } from './support/examples.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());
const document = await readDocument(setting.url);

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

const VALUES: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum']);
const NAMED: ReadonlySet<string> = new Set(['properties', 'schemas']);

/** Every object of the document below `value`, with the way to it; what examples hold is not looked into. */
function* nodes(value: unknown, way: readonly string[] = []): Generator<{ way: string; node: Node }> {
  if (!isNode(value)) return;
  if (!Array.isArray(value)) yield { way: way.join(' '), node: value };
  for (const [name, inner] of Object.entries(value)) {
    if (VALUES.has(name)) continue;
    // The names in there are those of members.
    const within = NAMED.has(name) ? Object.entries(inner as Node) : [];
    for (const [member, schema] of within) yield* nodes(schema, [...way, name, member]);
    if (!NAMED.has(name)) yield* nodes(inner, [...way, name]);
  }
}

/** The values that a schema, a parameter or a body gives, with the schema that they have to fit. */
function valuesOf(node: Node): { schema: unknown; value: unknown }[] {
  const schema = node['schema'] ?? node;
  return [
    ...('default' in node ? [node['default']] : []),
    ...('example' in node ? [node['example']] : []),
    ...(Array.isArray(node['examples']) ? node['examples'] : []),
    ...(Array.isArray(node['enum']) ? node['enum'] : []),
  ].map((value) => ({ schema, value }));
}

describe('the values of the OpenAPI document', () => {
  test('fit their own schemas: each default, example and choice', () => {
    const check = createExampleCheck(document);
    const found = [...nodes(document.paths, ['paths']), ...nodes(document.components, ['components'])];
    const given = found.flatMap(({ way, node }) => valuesOf(node).map((each) => ({ way, ...each })));
    expect(given.length).toBeGreaterThan(100);
    const wrong = given.flatMap(({ way, schema, value }) => {
      const mistake = check(schema, value);
      return mistake === undefined ? [] : [`${way}: ${JSON.stringify(value)} ${mistake}`];
    });
    expect(wrong).toEqual([]);
  });

  const schemaOf = (path: string, name: string) =>
    document.paths[path]?.['get']?.parameters?.find((each) => each.name === name)?.schema;

  test('are the defaults of the interface', () => {
    const filter = '/v1/filter/{workspace_id}';
    expect(schemaOf(filter, 'order_by')).toMatchObject({
      type: 'array',
      items: { type: 'string' },
      default: ['created_at DESC'],
    });
    expect(schemaOf(filter, 'page')).toMatchObject({ type: 'integer', minimum: 1, default: 1 });
    expect(schemaOf(filter, 'size')).toMatchObject({ type: 'integer', maximum: 100, default: 50 });
    expect(schemaOf('/compute', 'n')).toMatchObject({ type: 'integer', default: 42 });
    expect(schemaOf('/v1/{workspace_id}/presigned/url', 'expires_in')).toMatchObject({ default: 3600 });
  });

  test('are taken as they stand: a search with every default sent is the search with none', async () => {
    const path = '/v1/filter/{workspace_id}';
    const query = new URLSearchParams();
    for (const { name, schema } of document.paths[path]?.['get']?.parameters ?? []) {
      const fallback = (schema as { default?: unknown }).default;
      if (fallback !== undefined) query.append(name, String(fallback));
    }
    expect(query.has('order_by')).toBe(true);
    const { call, workspace, adminKey } = setting;
    await setting.admin.stored();
    await setting.admin.stored();
    const plain = await call('GET', `/v1/filter/${workspace}`, { key: adminKey });
    const full = await call('GET', `/v1/filter/${workspace}`, {
      key: adminKey,
      query: Object.fromEntries(query),
    });
    expect({ status: full.status, body: JSON.parse(full.text) }).toEqual({
      status: 200,
      body: JSON.parse(plain.text),
    });
  });
});

describe('the models in the OpenAPI document', () => {
  const ModelEnum = { $ref: '#/components/schemas/ModelEnum' };
  const propertiesOf = (name: string, of = document) =>
    (of.components.schemas[name] as { properties: Record<string, unknown> }).properties;

  test('ModelEnum lists those that make embeddings, and its default is what answers a request without one', async () => {
    expect(document.components.schemas['ModelEnum']).toMatchObject({
      type: 'string',
      enum: ['local-multilingual-e1'],
      default: 'local-multilingual-e1',
    });
    expect(propertiesOf('EmbeddingInSchema')['model']).toEqual(ModelEnum);
    expect(propertiesOf('EmbeddingOutSchema')['model']).toEqual(ModelEnum);
    const answer = await setting.call('POST', `/${setting.workspace}/v1/embeddings`, {
      key: setting.adminKey,
      json: { input: ['Good morning'] },
    });
    expect(JSON.parse(answer.text)).toMatchObject({ model: 'local-multilingual-e1' });
  });

  test('ModelEnum, and the models of the examples, follow the models file while the service runs', async () => {
    const directory = freshFolder();
    const file = join(directory, 'models.yaml');
    const catalogue = (name: string) =>
      `models:\n  ${name}:\n    endpoints: [embeddings]\n    targets: [{ model: local-multilingual-e1 }]\n`;
    writeFileSync(file, catalogue('ours-1'));
    await using service = await startService({ environment: { MODELS_CONFIG: file } });
    const embeddingModels = async () => {
      const present = await readDocument(service.url);
      const { requestBody } = present.paths['/{workspace_id}/v1/embeddings']?.['post'] ?? {};
      const example = requestBody?.content['application/json']?.example as { model: string };
      return {
        example: example.model,
        words: (present.components.schemas['ModelEnum'] as { enum: string[] }).enum,
      };
    };
    expect((await embeddingModels()).words).toContain('ours-1');
    writeFileSync(file, catalogue('ours-2'));
    process.kill(service.child.pid, 'SIGHUP');
    await eventually('the new model to be described', async () => {
      const { words } = await embeddingModels();
      return words.includes('ours-2') && !words.includes('ours-1') ? true : undefined;
    });
    const { example, words } = await embeddingModels();
    expect(words).toContain(example);
  });

  test('answers of models are described member by member, and may hold others', () => {
    const answerOf = (path: string) =>
      document.paths[path]?.['post']?.responses['200']?.content?.['application/json']?.schema;
    const expected = {
      '/v1/chat/completions': ['ChatCompletion', ['id', 'object', 'created', 'model', 'choices', 'usage']],
      '/v1/completions': ['Completion', ['id', 'object', 'created', 'model', 'choices', 'usage']],
      '/v1/images/generations': ['ImageList', ['created', 'data']],
      '/v1/embeddings': ['EmbeddingList', ['object', 'model', 'data', 'usage']],
    } as const;
    for (const [path, [name, members]] of Object.entries(expected)) {
      expect([path, answerOf(path)]).toEqual([path, { $ref: `#/components/schemas/${name}` }]);
      expect([path, answerOf(path.replace('/v1', ''))]).toEqual([path, answerOf(path)]);
      expect(Object.keys(propertiesOf(name))).toEqual(expect.arrayContaining([...members]));
      expect(document.components.schemas[name]).toMatchObject({ additionalProperties: true });
    }
  });

  test('answers that can come as a stream have it beside the JSON, with an example that a client can read', () => {
    const channel = '{workspace_id}/{channel}/{channel_plugin}/{channel_id}';
    const paths = [
      '/v1/chat/completions',
      '/chat/completions',
      '/v1/completions',
      '/completions',
      `/api/v1/chat/messages/send-message/${channel}/bychannelsession/{channel_session_id}`,
    ];
    for (const path of paths) {
      const content = document.paths[path]?.['post']?.responses['200']?.content ?? {};
      expect(Object.keys(content)).toEqual(['application/json', 'text/event-stream']);
      const events = String(content['text/event-stream']?.example).split('\n\n');
      expect(events.pop()).toBe('');
      const data = events.map((event) => event.replace(/^data: /, ''));
      // Checkers validate the text of the stream, each event as an object with its fields, or what its data holds.
      const fits = new Ajv2020({ strict: false }).compile(content['text/event-stream']?.schema ?? false);
      for (const value of [events.join('\n\n'), ...data.map((text) => ({ event: 'message', data: text }))])
        expect([value, fits(value)]).toEqual([value, true]);
      expect(data.length).toBeGreaterThan(2);
      for (const each of data.filter((text) => text !== '[DONE]')) expect(JSON.parse(each)).toBeObject();
    }
  });
});
