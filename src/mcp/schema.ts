// JSON-RPC as the OpenAPI document shows it; its messages are checked by the SDK.

import { Type } from '@sinclair/typebox';
import { nullable, openComponent, text } from '../http/schemas.ts';

const Id = Type.Union([Type.String(), Type.Integer()]);

export const McpRequest = openComponent(
  'McpRequest',
  'A message of JSON-RPC 2.0, as the Model Context Protocol has it.',
  {
    jsonrpc: Type.Literal('2.0', { description: 'The version of JSON-RPC.' }),
    id: Type.Optional(
      Type.Union([Type.String(), Type.Integer()], { description: 'Absent in notifications.' }),
    ),
    method: text('Such as `tools/list`, `tools/call`, `resources/read`.'),
    params: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'What the method asks for.' }),
    ),
  },
);

export const McpResponse = openComponent('McpResponse', 'The answer to a message of JSON-RPC 2.0.', {
  jsonrpc: Type.Literal('2.0', { description: 'The version of JSON-RPC.' }),
  id: Type.Optional(nullable(Id, 'That of the message.')),
  result: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'What the method returns.' }),
  ),
  error: Type.Optional(
    Type.Object(
      {
        code: Type.Integer({ description: 'The code of the mistake (JSON-RPC 2.0, section 5.1).' }),
        message: text('What is wrong, in one sentence.'),
        data: Type.Optional(Type.Unknown({ description: 'More about it.' })),
      },
      { description: 'Why there is no result.' },
    ),
  ),
});

export const CALL_EXAMPLE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search_documents', arguments: { query: 'pump manual' } },
};

export const ANSWER_EXAMPLE = {
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: '{"documents":[],"total":0,"next_offset":null}' }] },
};

export const STREAM_EXAMPLE = `event: message\ndata: ${JSON.stringify(ANSWER_EXAMPLE)}\n\n`;
