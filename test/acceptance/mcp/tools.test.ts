// The MCP server with the official client: tools by the scopes of the key, their answers, resources, and who sees what.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { pdf } from '../../support/files.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf, expectStatus } from '../support/caller.ts';
import { freshName, type Library } from '../support/library.ts';
import { connect, HEADERS, type McpClient, message, messagesOf, REVISIONS } from '../support/mcp.ts';
import { DOCUMENT_SCOPES, type Person } from '../support/people.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting({ CONTENT: 'on' }));
const { people, url, adminKey } = setting;

type Result = {
  isError?: boolean;
  content: { type: string; text?: string }[];
  structuredContent?: Record<string, unknown>;
};

const callTool = async (
  client: McpClient,
  name: string,
  given: Record<string, unknown> = {},
): Promise<Result> => (await client.callTool({ name, arguments: given })) as Result;

/** The structured part of an answer; its text has to be there, too. */
async function answerOf<T>(client: McpClient, name: string, given: Record<string, unknown> = {}): Promise<T> {
  const result = await callTool(client, name, given);
  expect({ name, given, ...result }).toMatchObject({ content: [{ type: 'text', text: expect.any(String) }] });
  expect(result.isError ? result.content : undefined).toBeUndefined();
  return result.structuredContent as T;
}

/** The sentence of a tool that failed. */
async function refusalOf(
  client: McpClient,
  name: string,
  given: Record<string, unknown> = {},
): Promise<string> {
  const result = await callTool(client, name, given);
  expect(result.isError).toBe(true);
  expect(result.structuredContent).toBeUndefined();
  return result.content[0]?.text ?? '';
}

async function readable(library: Library, given: object, content: Parameters<Library['stored']>[1]) {
  const document = await library.stored({ ...given }, content);
  expect(await library.whenRead(document.id)).toMatchObject({ status: 'ready' });
  return document;
}

/** An agent of the workspace that answers from its documents. */
async function newAgent(): Promise<string> {
  const agent = `knows-${crypto.randomUUID().slice(0, 8)}`;
  const json = {
    name: 'Knows',
    kind: 'persona',
    model: 'local-echo',
    instructions: 'Cite.',
    knowledge: 'documents',
  };
  const path = `/admin/api/workspaces/${setting.workspace}/agents/${agent}`;
  expectStatus(await setting.call('PUT', path, { key: adminKey, json }), 200);
  return agent;
}

type Found = { documents: { id: string; name: string }[]; total: number; next_offset: number | null };
type Excerpt = { text: string; next_offset: number | null; characters: number; start: number; end: number };
type Listed = { resources: { uri: string }[]; nextCursor?: string | undefined };
type Passage = { document_id: string; name: string; text: string; start: number; end: number };
type Asked = { answer: string; session_id: string; citations: object[] };

const DOCUMENT_TOOLS = ['retrieve', 'search_documents', 'read_document', 'document_link'];

describe.each(REVISIONS)('a client of the revision %s', (revision) => {
  const connectAs = (key: string) => connect(url, key, revision);

  test('negotiates it, and learns what the server is for', async () => {
    await using client = await connectAs(setting.adminKey);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()).toMatchObject({ name: 'atrium', version: expect.any(String) });
    expect(client.getInstructions()).toContain('read_document');
    expect(client.getServerCapabilities()).toMatchObject({ tools: {}, resources: {} });
  });

  test.each([
    [['documents:read'], DOCUMENT_TOOLS],
    [['chat'], ['ask_agent']],
    [
      ['documents:read', 'chat'],
      [...DOCUMENT_TOOLS, 'ask_agent'],
    ],
    [['documents:write', 'models', 'bots', 'metrics', 'admin'], []],
  ])('with the scopes %p is listed the tools %p, and refused all others', async (scopes, names) => {
    const { key } = await people.newKey({ scopes });
    await using client = await connectAs(key);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([...names].sort());
    for (const tool of tools) {
      expect(tool.description?.length).toBeGreaterThan(50);
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(tool.outputSchema).toMatchObject({ type: 'object' });
      expect(tool.annotations).toMatchObject({
        readOnlyHint: tool.name !== 'ask_agent',
        destructiveHint: false,
      });
    }
    if (!names.includes('ask_agent'))
      expect(await refusalOf(client, 'ask_agent', { question: 'x' })).toBe(
        'The API key lacks the scope chat',
      );
    if (!names.includes('read_document')) {
      const id = crypto.randomUUID();
      for (const [name, given] of [
        ['retrieve', { query: 'x' }],
        ['search_documents', {}],
        ['read_document', { document_id: id }],
        ['document_link', { document_id: id }],
      ] as const)
        expect(await refusalOf(client, name, given)).toBe('The API key lacks the scope documents:read');
      expect(client.getServerCapabilities()?.resources).toBeUndefined();
    }
  });

  test('finds documents by words and filters, a part at a time', async () => {
    const person = await people.person();
    const tag = crypto.randomUUID();
    const ids: string[] = [];
    for (const name of ['one.txt', 'two.txt', 'three.pdf'])
      ids.push((await person.library.stored({ name, tags: [tag], summary: `About ${tag}` })).id);
    await using client = await connectAs(person.key);
    const filters = [`tags=any:${tag}`];
    const all = await answerOf<Found>(client, 'search_documents', { filters });
    expect(all.documents.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(all.documents[0]).toMatchObject({
      name: 'three.pdf',
      file_type: 'pdf',
      tags: [tag],
      status: 'private',
    });
    const pdfs = await answerOf<Found>(client, 'search_documents', {
      filters: [...filters, 'file_type=eq:pdf'],
    });
    expect(pdfs.documents.map(({ name }) => name)).toEqual(['three.pdf']);
    expect((await answerOf<Found>(client, 'search_documents', { query: tag, filters })).total).toBe(3);
    const first = await answerOf<Found>(client, 'search_documents', {
      filters,
      limit: 2,
      order_by: ['name ASC'],
    });
    expect(first).toMatchObject({
      total: 3,
      next_offset: 2,
      documents: [{ name: 'one.txt' }, { name: 'three.pdf' }],
    });
    const rest = await answerOf<Found>(client, 'search_documents', {
      filters,
      offset: 2,
      order_by: ['name ASC'],
    });
    expect(rest).toMatchObject({ next_offset: null, documents: [{ name: 'two.txt' }] });
  });

  test('finds passages that answer a question, and reads on from there', async () => {
    const person = await people.person();
    const word = `Pump${crypto.randomUUID().slice(0, 8)}`;
    const said = `The seal of the ${word} is changed every 500 hours.`;
    const document = await readable(person.library, { name: 'pump.txt' }, `${said} Oil is changed sooner.`);
    await using client = await connectAs(person.key);
    const query = `How often is the seal of the ${word} changed?`;
    const [passage] = await eventually('the passage to be found', async () => {
      const { passages } = await answerOf<{ passages: Passage[] }>(client, 'retrieve', { query });
      return passages.length === 0 ? undefined : passages;
    });
    expect(passage).toMatchObject({
      document_id: document.id,
      name: 'pump.txt',
      start: 0,
      text: expect.stringContaining(said),
    });
    const read = await answerOf<Excerpt>(client, 'read_document', {
      document_id: document.id,
      offset: passage?.start ?? -1,
      length: said.length,
    });
    expect(read.text).toBe(said);
    for (const narrow of [{ filters: ['file_type=eq:pdf'] }, { min_score: 1 }])
      expect(await answerOf<object>(client, 'retrieve', { query, ...narrow })).toMatchObject({
        passages: [],
      });
    const kept = await answerOf<{ passages: Passage[] }>(client, 'retrieve', {
      query,
      mode: 'words',
      limit: 1,
      filters: [`id=eq:${document.id}`, 'file_type=eq:txt'],
    });
    expect(kept.passages.length).toBe(1);
  });

  test('reads a document by offset and by page, and downloads its file', async () => {
    const file = pdf([
      [{ x: 50, y: 780, text: 'The first page is about oil.' }],
      [{ x: 50, y: 780, text: 'The second page is about seals.' }],
    ]);
    const { id, name } = await readable(setting.admin, { name: freshName('pdf') }, file);
    await using client = await connectAs(setting.adminKey);
    const page = await answerOf<Excerpt>(client, 'read_document', { document_id: id, page: 2 });
    expect(page).toMatchObject({
      name,
      pages: 2,
      text: 'The second page is about seals.',
      next_offset: null,
    });
    let text = '';
    for (let offset: number | null = 0; offset !== null; ) {
      const part: Excerpt = await answerOf<Excerpt>(client, 'read_document', {
        document_id: id,
        offset,
        length: 7,
      });
      text += part.text;
      offset = part.next_offset;
    }
    expect(text).toBe((await setting.admin.content(id, { format: 'text' })).text);
    const link = await answerOf<{ url: string }>(client, 'document_link', {
      document_id: id,
      expires_in: 60,
    });
    expect(Buffer.from(await (await fetch(link.url)).arrayBuffer()).equals(Buffer.from(file))).toBe(true);
  });

  test('asks an agent, which remembers its session', async () => {
    const { key } = await people.newKey({ scopes: ['chat'] });
    await using client = await connectAs(key);
    const first = await answerOf<Asked>(client, 'ask_agent', { question: 'Good morning' });
    expect(first).toMatchObject({ answer: expect.stringContaining('Good morning'), citations: [] });
    const { session_id } = first;
    const second = await answerOf<Asked>(client, 'ask_agent', { question: 'And then?', session_id });
    expect(second.session_id).toBe(session_id);
    const sessions = bodyOf<{
      items: { channel_session_id: string; channel: string; message_count: number }[];
    }>(
      await setting.call('GET', `/api/v1/chat/sessions/${setting.workspace}`, {
        headers: { 'svc-key': key },
      }),
      200,
    );
    expect(sessions.items).toMatchObject([
      { channel_session_id: session_id, channel: 'mcp', message_count: 4 },
    ]);
    const other = await people.newKey({ scopes: ['chat'] });
    await using stranger = await connectAs(other.key);
    expect(await refusalOf(stranger, 'ask_agent', { question: 'x', session_id })).toBe(
      'Chat session not found',
    );
  });

  test('asks an agent that knows documents, whose answer cites them', async () => {
    const agent = await newAgent();
    const word = `Valve${crypto.randomUUID().slice(0, 8)}`;
    const person = await people.person({ scopes: ['documents:read', 'documents:write', 'chat'] });
    const document = await readable(person.library, { name: 'valve.txt' }, `The ${word} opens at three bar.`);
    await using client = await connectAs(person.key);
    const answer = await eventually('the passage to be cited', async () => {
      const question = `When does the ${word} open?`;
      const asked = await answerOf<Asked>(client, 'ask_agent', { question, agent });
      return asked.citations.length === 0 ? undefined : asked;
    });
    expect(answer.citations).toMatchObject([
      { document_id: document.id, name: 'valve.txt', quote: expect.any(String) },
    ]);
    const { key } = await people.newKey({ scopes: ['chat'] });
    await using without = await connectAs(key);
    expect(await refusalOf(without, 'ask_agent', { question: 'x', agent })).toContain('documents:read');
  });

  test('is told in a sentence what is wrong with its arguments', async () => {
    await using client = await connectAs(setting.adminKey);
    const id = (await setting.admin.stored()).id;
    for (const [name, given, sentence] of [
      ['search_documents', { query: 5 }, /^query: Input should be a valid string$/],
      ['search_documents', { qury: 'x' }, /^qury: Extra inputs are not permitted/],
      [
        'search_documents',
        { filters: ['nmae=x'] },
        /^filters\.0: A filter is written attribute=operator:value/,
      ],
      ['search_documents', { filters: ['file_size=gt:x'] }, /^file_size\.0: Input should be a valid integer/],
      ['search_documents', { order_by: ['x'] }, /^order_by\.0: /],
      ['retrieve', { query: '' }, /^query: String should have at least 1 character$/],
      ['retrieve', { query: 'x', filters: ['created_at=gt:yesterday'] }, /created_at/],
      ['search_documents', { limit: 51 }, /^limit: Input should be less than or equal to 50$/],
      ['read_document', {}, /^document_id: Field required$/],
      ['read_document', { document_id: '../..' }, /^Document not found$/],
      ['read_document', { document_id: id, page: 1, offset: 1 }, /^offset: Value error, a page is asked for/],
      [
        'read_document',
        { document_id: id, length: 0 },
        /^length: Input should be greater than or equal to 1$/,
      ],
      ['document_link', { document_id: id, expires_in: 604_801 }, /^expires_in: Input should be less/],
      ['document_link', { document_id: crypto.randomUUID() }, /^Document not found$/],
      ['ask_agent', { question: '' }, /^question: String should have at least 1 character$/],
      ['ask_agent', { question: 'x', session_id: 'none' }, /^Chat session not found$/],
      ['ask_agent', { question: 'x', session_id: '../../x' }, /^Chat session not found$/],
    ] as const)
      expect([given, await refusalOf(client, name, given)]).toEqual([given, expect.stringMatching(sentence)]);
    const unread = await setting.admin.stored({ name: 'photo.jpg' }, 'JFIF');
    await eventually('the file to be looked at', async () =>
      (await refusalOf(client, 'read_document', { document_id: unread.id })).includes('it is unsupported'),
    );
    await expect(client.callTool({ name: 'drop_tables' })).rejects.toThrow('There is no tool "drop_tables"');
  });

  test('lists documents as resources, page by page, and reads their text', async () => {
    const person = await people.person();
    const ids: string[] = [];
    for (let count = 0; count < 103; count++)
      ids.push((await person.library.stored({ summary: `No. ${count}` })).id);
    const last = await readable(
      person.library,
      { name: 'last.txt' },
      `${'A line of text.\n'.repeat(7000)}End`,
    );
    await using client = await connectAs(person.key);
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...HEADERS, authorization: `Bearer ${person.key}` },
      body: JSON.stringify(message('resources/list')),
    });
    const [first] = messagesOf(await response.text());
    const { resources: all, nextCursor } = (first?.result ?? {}) as Listed;
    expect(all.length).toBe(100);
    // A document that comes in between moves nothing.
    const late = await person.library.stored();
    for (let cursor = nextCursor; cursor !== undefined; ) {
      const next = await client.listResources({ cursor });
      all.push(...next.resources);
      cursor = next.nextCursor;
    }
    const own = new Set([...ids, last.id].map((id) => `atrium://documents/${id}`));
    const found = all.filter(({ uri }) => own.has(uri));
    expect(found.length).toBe(104);
    expect(new Set(found.map(({ uri }) => uri)).size).toBe(104);
    expect(found[0]).toMatchObject({ name: 'last.txt', mimeType: 'text/plain' });
    expect(all.map(({ uri }) => uri)).not.toContain(`atrium://documents/${late.id}`);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
      'atrium://documents/{document_id}',
    );
    const text = (await person.library.content(last.id, { format: 'text' })).text;
    const read = async (uri: string) => {
      const [content] = (await client.readResource({ uri })).contents as { text: string; uri: string }[];
      return content?.text ?? '';
    };
    const begin = await read(`atrium://documents/${last.id}`);
    expect(begin.startsWith(text.slice(0, 100_000))).toBe(true);
    const next = /\(The text goes on: (atrium:\S+)\)$/.exec(begin)?.[1] ?? '';
    expect(await read(next)).toBe(text.slice(100_000));
    for (const uri of [
      `atrium://documents/${crypto.randomUUID()}`,
      'atrium://documents/x',
      'file:///etc/passwd',
      `atrium://documents/${last.id}?offset=-1`,
      `atrium://documents/${last.id}/../${last.id}`,
    ])
      await expect(client.readResource({ uri })).rejects.toThrow(/not found/i);
    for (const cursor of ['made up', Buffer.from('5 9999-99-99T99:99:99Z').toString('base64url')])
      await expect(client.listResources({ cursor })).rejects.toThrow('The cursor is not one that');
  });
});

describe('what a person sees', () => {
  type Visited = { id: string; word: string; agent: string };
  type Attempt = (client: McpClient, document: Visited) => Promise<boolean>;
  const mayCall =
    (name: string): Attempt =>
    async (client, { id }) =>
      (await callTool(client, name, { document_id: id })).isError !== true;
  const ATTEMPTS: Record<string, Attempt> = {
    search_documents: async (client, { id }) =>
      (await answerOf<Found>(client, 'search_documents', { filters: [`id=eq:${id}`] })).total === 1,
    retrieve: async (client, { id, word }) => {
      const { passages } = await answerOf<{ passages: Passage[] }>(client, 'retrieve', { query: word });
      return passages.some(({ document_id }) => document_id === id);
    },
    read_document: mayCall('read_document'),
    document_link: mayCall('document_link'),
    // In another workspace the default agent answers, which knows no documents.
    ask_agent: async (client, { id, word, agent }) => {
      const asked = await answerOf<Asked>(client, 'ask_agent', { question: `What of the ${word}?`, agent });
      return JSON.stringify(asked).includes(id);
    },
    'resources/list': async (client, { id }) => JSON.stringify(await client.listResources()).includes(id),
    'resources/read': async (client, { id }) =>
      client.readResource({ uri: `atrium://documents/${id}` }).then(
        () => true,
        () => false,
      ),
  };
  // Lists leave out what is in the bin and in the archive; its owner and administrators still read it there.
  const SEEN: Record<string, Record<string, string>> = {
    public: { other: 'all', curator: 'all', owner: 'all', admin: 'all', foreign: 'none' },
    private: { other: 'none', curator: 'all', owner: 'all', admin: 'all', foreign: 'none' },
    archived: { other: 'by id', curator: 'by id', owner: 'by id', admin: 'by id', foreign: 'none' },
    binned: { other: 'none', curator: 'none', owner: 'by id', admin: 'by id', foreign: 'none' },
    purged: { other: 'none', curator: 'none', owner: 'none', admin: 'none', foreign: 'none' },
  };
  const LISTS = new Set(['search_documents', 'retrieve', 'ask_agent', 'resources/list']);

  test('is walked for every tool', async () => {
    await using client = await connect(url, adminKey);
    const { tools } = await client.listTools();
    expect(Object.keys(ATTEMPTS)).toEqual(expect.arrayContaining(tools.map(({ name }) => name)));
  });

  test.each(Object.keys(SEEN))('of a document that is %s is the same with every tool', async (state) => {
    const request = { scopes: [...DOCUMENT_SCOPES, 'chat'] };
    const person = () => people.person(request);
    const [owner, curator, other] = [await person(), await person(), await person()];
    const foreign = await (await setting.elsewhere()).people.person(request);
    const admin = { key: setting.adminKey };
    const status = state === 'private' ? 'private' : 'public';
    const given = { status, access: { curators: [curator.email] } };
    const word = `Wombat${crypto.randomUUID().slice(0, 8)}`;
    const agent = await newAgent();
    const { id } = await readable(owner.library, given, `The ${word} sleeps by day.`);
    const document = { id, word, agent };
    await using reader = await connect(url, owner.key);
    await eventually('the passage to be found', () => ATTEMPTS['retrieve']?.(reader, document));
    if (state === 'archived') expectStatus(await owner.library.archive(id), 200);
    if (state === 'binned' || state === 'purged') expectStatus(await owner.library.bin(id), 204);
    if (state === 'purged') expectStatus(await owner.library.purge(id), 204);
    const callers: Record<string, Pick<Person, 'key'>> = { owner, curator, other, admin, foreign };
    const found: Record<string, Record<string, boolean>> = {};
    const expected: typeof found = {};
    for (const [name, { key }] of Object.entries(callers)) {
      await using client = await connect(url, key);
      const seen = SEEN[state]?.[name];
      found[name] = {};
      expected[name] = {};
      for (const [attempt, may] of Object.entries(ATTEMPTS)) {
        found[name][attempt] = await may(client, document);
        // An administrator's answers rest on what they may see as a person.
        expected[name][attempt] =
          !(state === 'private' && name === 'admin' && attempt === 'ask_agent') &&
          (seen === 'all' || (seen === 'by id' && !LISTS.has(attempt)));
      }
    }
    expect(found).toEqual(expected);
  });
});
