// /docs/json describes the interface completely and validly; /docs needs nothing from outside. Every answer of the
// whole acceptance suite is held against the document by support/caller.ts.

import { describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { shared } from '../support/shared.ts';
import {
  createContract,
  type DescribedOperation,
  type NamedOperation,
  operationsOf,
  readDocument,
  requiresHeader,
} from './support/contract.ts';
import { createExampleCheck } from './support/examples.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());
const document = await readDocument(setting.url);
const operations = operationsOf(document);

/** Operations of the interface's Area A, as its tables write them. A new one that takes the same header is added here. */
const AREA_A = [
  'GET /v1/{workspace_id}/presigned/url',
  'POST /v1/{workspace_id}/upload/confirm',
  'GET /v1/{workspace_id}/file/{file_id}/download/url',
  'GET /v1/{workspace_id}/file/{file_id}/content',
  'PUT /v1/{workspace_id}/file/{file_id}/content',
  'GET /v1/{workspace_id}/file/{file_id}/passages',
  'GET /v1/{workspace_id}/file/{file_id}/history',
  'GET /v1/{workspace_id}/file/{file_id}/content/excerpt',
  'GET /v1/{workspace_id}/contents',
  'POST /v1/{workspace_id}/retrieve',
  'GET /v1/{workspace_id}/passages',
  'DELETE /v1/{workspace_id}/{file_id}',
  'GET /v1/{workspace_id}/trash',
  'DELETE /v1/{workspace_id}/trash/{file_id}',
  'POST /v1/{workspace_id}/restore/{file_id}',
  'DELETE /v1/{workspace_id}/empty/trash',
  'GET /v1/metadata/{workspace_id}/{document}/detail',
  'PUT /v1/metadata/{workspace_id}/{document}',
  'POST /v1/metadata/{workspace_id}/archive/{file_name}',
  'GET /v1/metadata/{workspace_id}/archive/list',
  'GET /v1/metadata/{workspace_id}/folders/list',
  'POST /v1/metadata/{workspace_id}/un-archive/{file}',
];

/** Takes the header of Area A, and is an area of its own. */
const FILTER = 'GET /v1/filter/{workspace_id}';

/** The names of those operations for which a rule does not hold. */
const breaking = (rule: (described: NamedOperation) => boolean): string[] =>
  operations.filter((described) => !rule(described)).map(({ name }) => name);

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.valid ? undefined : result.errors).toBeUndefined();
    expect(document.openapi).toBe('3.1.0');
  });

  test('lists every operation of Area A', () => {
    expect(operations.map(({ name }) => name)).toEqual(expect.arrayContaining(AREA_A));
    const unlisted = operations
      .filter(({ name, operation }) => requiresHeader(operation, 'APIKeyHeader') && !AREA_A.includes(name))
      .map(({ name }) => name);
    const sentences = unlisted
      .filter((name) => name !== FILTER)
      .map((name) => `${name} requires APIKeyHeader: add it to AREA_A of test/acceptance/openapi.test.ts`);
    expect(sentences).toEqual([]);
  });

  test('names each operation once, and says what it is', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(breaking(({ operation }) => (operation.summary ?? '') !== '')).toEqual([]);
  });

  test('has each placeholder of a path as a required parameter, and no other', () => {
    const placeholders = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
    const declared = (operation: DescribedOperation) =>
      (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'path' && parameter.required === true)
        .map(({ name }) => name)
        .sort();
    expect(
      breaking(({ path, operation }) => placeholders(path).join() === declared(operation).join()),
    ).toEqual([]);
  });

  test('declares the header APIKeyHeader and its security scheme for all of Area A', () => {
    const inAreaA = operations.filter(({ name }) => AREA_A.includes(name));
    for (const { name, operation } of inAreaA) {
      const header = operation.parameters?.find((parameter) => parameter.name === 'APIKeyHeader');
      expect([name, header]).toMatchObject([
        name,
        { in: 'header', name: 'APIKeyHeader', required: true, schema: { type: 'string' } },
      ]);
      expect([name, operation.security]).toEqual([name, [{ APIKeyHeader: [] }, { Bearer: [] }]]);
    }
    expect(document.components.securitySchemes['APIKeyHeader']).toEqual({
      type: 'apiKey',
      in: 'header',
      name: 'APIKeyHeader',
    });
  });

  test('describes the webhook of bots as the interface does', () => {
    const webhook = operations.find(({ name }) => name === 'POST /chatapp/{workspace_id}/{bot_id}');
    const header = webhook?.operation.parameters?.find((parameter) => parameter.name === 'authorization');
    expect(header).toMatchObject({ in: 'header', required: true, schema: { type: 'string' } });
    const named = (schema: string) => ({ $ref: `#/components/schemas/${schema}` });
    expect(webhook?.operation).toMatchObject({
      requestBody: {
        content: {
          'application/json': {
            schema: { anyOf: ['ChatappMessageRequest', 'ChatappEvent', 'ChatappAddOnEvent'].map(named) },
          },
        },
      },
      responses: {
        200: {
          content: {
            'application/json': { schema: { anyOf: ['ChatappReply', 'ChatappAddOnReply'].map(named) } },
          },
        },
      },
    });
    const { ChatappMessageRequest: event } = document.components.schemas as Record<
      string,
      { required: string[] }
    >;
    expect(event?.required.toSorted()).toEqual(
      ['type', 'eventTime', 'message', 'user', 'space', 'configCompleteRedirectUrl', 'common'].toSorted(),
    );
  });

  test('names only security schemes that it defines', () => {
    const defined = Object.keys(document.components.securitySchemes);
    const named = ({ operation }: NamedOperation) =>
      (operation.security ?? []).flatMap((requirement) => Object.keys(requirement));
    expect(breaking((described) => named(described).every((scheme) => defined.includes(scheme)))).toEqual([]);
  });

  test('gives the limits and defaults of query parameters', () => {
    const parameter = (path: string, name: string) =>
      document.paths[path]?.['get']?.parameters?.find((each) => each.name === name);
    for (const path of [
      '/v1/{workspace_id}/presigned/url',
      '/v1/{workspace_id}/file/{file_id}/download/url',
    ]) {
      expect(parameter(path, 'expires_in')).toMatchObject({
        in: 'query',
        required: false,
        schema: { type: 'integer', default: 3600, minimum: 1, maximum: 604_800 },
      });
    }
  });

  test('gives a schema for every JSON answer and body, and 422 in the shape of HTTPValidationError', () => {
    const media = ({ operation }: NamedOperation) => [
      ...Object.values(operation.responses).flatMap((response) => Object.values(response.content ?? {})),
      ...Object.values(operation.requestBody?.content ?? {}),
    ];
    expect(breaking((described) => media(described).every(({ schema }) => schema !== undefined))).toEqual([]);
    const invalid = ({ operation }: NamedOperation) =>
      operation.responses['422']?.content?.['application/json']?.schema;
    const plain = '{"$ref":"#/components/schemas/HTTPValidationError"}';
    const ingestion = 'POST /api/v1/workspace_metric/{workspace_id}/events';
    expect(
      breaking((described) => {
        const schema = invalid(described);
        return schema === undefined || JSON.stringify(schema) === plain;
      }),
    ).toEqual([ingestion]);
    // It tells of each event besides.
    const { NothingIngested, HTTPValidationError } = document.components.schemas as Record<
      string,
      { properties: Record<string, unknown>; required: string[] }
    >;
    expect(NothingIngested?.properties).toMatchObject(HTTPValidationError?.properties ?? {});
    expect(NothingIngested?.required).toEqual(HTTPValidationError?.required ?? []);
    expect(
      AREA_A.filter(
        (name) =>
          !operations.some((described) => described.name === name && invalid(described) !== undefined),
      ),
    ).toEqual([]);
  });

  test('gives an example of every body and of every JSON success, and they fit their schemas', () => {
    const check = createExampleCheck(document);
    const wrong = operations.flatMap(({ name, operation }) => {
      const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
      const contents = [...successes.map(([, response]) => response.content), operation.requestBody?.content];
      return contents.flatMap((content) => {
        const media = content?.['application/json'];
        if (media === undefined || name === 'GET /docs/json') return [];
        const mistake = media.example === undefined ? 'has no example' : check(media.schema, media.example);
        return mistake === undefined ? [] : [`${name} ${mistake}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  test('describes each operation, parameter, answer, schema and member of a schema', () => {
    const said = (thing: object): boolean =>
      /\w{2}/.test((thing as { description?: string }).description ?? '');
    const undescribed = operations.flatMap(({ name, operation }) => [
      ...(said(operation) ? [] : [name]),
      ...(operation.parameters ?? []).filter((each) => !said(each)).map((each) => `${name} ${each.name}`),
      ...Object.entries(operation.responses).flatMap(([status, each]) =>
        said(each) ? [] : [`${name} ${status}`],
      ),
    ]);
    type Schema = { properties?: Record<string, object> };
    const schemas = Object.entries(document.components.schemas as Record<string, Schema>);
    for (const [name, schema] of schemas) {
      if (!said(schema)) undescribed.push(name);
      for (const [member, property] of Object.entries(schema.properties ?? {})) {
        const members = (property as { anyOf?: object[] }).anyOf ?? [property];
        const told = [property, ...members].some((each) => '$ref' in each || said(each));
        if (!told) undescribed.push(`${name}.${member}`);
      }
    }
    expect(undescribed).toEqual([]);
  });

  test('lists the refusals that every operation of its kind can answer', () => {
    const listed = ({ operation }: NamedOperation, statuses: string[]) =>
      statuses.every((status) => operation.responses[status] !== undefined);
    const invalid = ({ operation }: NamedOperation) =>
      operation.responses['422'] !== undefined || operation.responses['400'] !== undefined;
    expect(
      breaking((each) => (each.operation.security ?? []).length === 0 || listed(each, ['401', '503'])),
    ).toEqual([]);
    expect(
      breaking(
        (each) =>
          (each.operation.security ?? []).length === 0 ||
          !each.path.includes('{workspace_id}') ||
          listed(each, ['403']),
      ),
    ).toEqual([]);
    expect(
      breaking((each) => each.operation.requestBody === undefined || listed(each, ['408', '413', '415'])),
    ).toEqual([]);
    expect(
      breaking(
        (each) => (each.operation.requestBody === undefined && !each.path.includes('{')) || invalid(each),
      ),
    ).toEqual([]);
  });

  test('labels each area with the version of the interface', () => {
    const { tags } = document as unknown as {
      tags: { name: string; 'x-version'?: string; description: string }[];
    };
    const versions = Object.fromEntries(tags.map((tag) => [tag.name, tag['x-version']]));
    expect(versions).toMatchObject({
      documents: '1.0.0',
      models: '0.0.0',
      chat: 'v1',
      bots: 'v1',
      compute: 'v1',
    });
    expect(versions['metrics']).toBeUndefined();
    for (const { description, 'x-version': version } of tags) expect(description).toContain(version ?? '');
    const used = new Set(operations.flatMap(({ operation }) => operation.tags));
    expect(tags.map(({ name }) => name).toSorted()).toEqual([...used].toSorted());
  });

  test('names the schemas as the interface does', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        'DocumentMetadataRead',
        'DocumentMetadataConfirm',
        'DocumentMetadataPatch',
        'DocumentMetadataCreate',
        'HTTPValidationError',
        'ValidationError',
        'ChatappMessageRequest',
        'ChatappMessage',
        'ChatappUser',
        'ChatappSpace',
        'ChatappThread',
        'ChatappSlashCommand',
        'StatusEnum',
        'Page_DocumentMetadataRead_',
        'EmbeddingInSchema',
        'EmbeddingOutSchema',
        'EmbeddingDataOutSchema',
        'ModelEnum',
        'CreateChatSessionRequest',
        'SendMessageRequestSchema',
      ]),
    );
  });
});

describe('holding answers against the document', () => {
  const exchange = (status: number, body: unknown) => ({
    method: 'GET',
    path: '/v1/acme/trash',
    status,
    headers: new Headers({ 'content-type': 'application/json', 'x-request-id': 'x' }),
    text: JSON.stringify(body),
  });

  test('accepts what is documented, and nothing else', () => {
    const { hold } = createContract(document);
    hold(exchange(200, { items: [], count: 0 }));
    hold(exchange(401, { detail: 'no' }));
    expect(() => hold(exchange(418, { detail: 'no' }))).toThrow('does not list this status');
    expect(() => hold(exchange(200, { items: [] }))).toThrow("required property 'count'");
    expect(() => hold(exchange(200, { items: [], count: 0, secret: 1 }))).toThrow('additional properties');
    expect(() => hold(exchange(200, { items: [{ id: 'x' }], count: 1 }))).toThrow('/items/0');
    expect(() => hold({ ...exchange(200, {}), path: '/nope' })).toThrow('expected 404');
    expect(() => hold({ ...exchange(200, {}), method: 'PATCH' })).toThrow('expected 405');
  });
});

describe('the page /docs', () => {
  test('loads only what the service itself serves', async () => {
    const response = await fetch(`${setting.url}/docs`);
    expect(response.headers.get('content-type')).toStartWith('text/html');
    const page = await response.text();
    expect(page).not.toMatch(/<script>|<style>/);
    const loaded = [...page.matchAll(/(?:src|href)\s*=\s*["']([^"']+)["']/g)].map((match) => match[1] ?? '');
    expect(loaded.length).toBeGreaterThan(0);
    for (const target of loaded) {
      if (target.startsWith('data:')) continue;
      const url = new URL(target, `${setting.url}/docs`);
      expect(url.origin).toBe(setting.url);
      const asset = await fetch(url);
      expect([target, asset.status]).toEqual([target, 200]);
      expect(asset.headers.get('content-type')).toMatch(/^text\/(javascript|css)/);
      if (target.endsWith('.css')) expect(await asset.text()).not.toMatch(/url\(\s*["']?https?:|@import/);
    }
    const elsewhere = [...page.matchAll(/\b(?:https?:)?\/\/[a-z0-9.-]+\.[a-z]{2,}[^\s"'<]*/gi)].map(
      ([url]) => url,
    );
    expect(elsewhere).toEqual([]);
  });

  test('shows the document of the service, with every operation in it', async () => {
    const page = await (await fetch(`${setting.url}/docs`)).text();
    const source = /data-document="([^"]+)"/.exec(page)?.[1] ?? '';
    expect(await (await fetch(new URL(source, `${setting.url}/docs`))).json()).toEqual(document as object);
  });

  test('is forbidden by its policy to load from elsewhere', async () => {
    const policy = (await fetch(`${setting.url}/docs`)).headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
  });
});
