import type { Planted } from '../mistake.ts';

export const mcp: readonly Planted[] = [
  {
    mistake: 'every key is shown every tool',
    file: 'src/mcp/server.ts',
    text: 'tools.filter(({ scope }) => caller.principal.scopes.has(scope))',
    replacement: 'tools',
    test: 'test/acceptance/mcp/tools.test.ts',
    name: 'is listed the tools',
  },
  {
    mistake: 'a tool calls an operation without its scope',
    file: 'src/http/http.ts',
    text: "        authorize(state.caller, route, parameters.path['workspace_id']);\n",
    replacement: '',
    test: 'test/acceptance/mcp/tools.test.ts',
    name: 'is listed the tools',
  },
  {
    mistake: 'pages of other origins may use the MCP server',
    file: 'src/mcp/routes.ts',
    text: "origin === null || origins.includes('*')",
    replacement: "origin !== 'null' || origins.includes('*')",
    test: 'test/acceptance/mcp/protocol.test.ts',
    name: 'of a page of another origin is refused',
  },
  {
    mistake: 'an unknown argument of a tool is ignored',
    file: 'src/mcp/tool.ts',
    text: ', { additionalProperties: false }',
    replacement: '',
    test: 'test/acceptance/mcp/tools.test.ts',
    name: 'what is wrong with its arguments',
  },
  {
    mistake: 'all calls of a batch run at once',
    file: 'src/mcp/run.ts',
    text: 'abortable(this.#places.run(begin), signal)',
    replacement: 'abortable(begin(), signal)',
    test: 'test/mcp/serve.test.ts',
    name: 'four calls run at once',
  },
  {
    mistake: 'documents that are added meanwhile move the list of resources',
    file: 'src/mcp/resources.ts',
    text: `until === undefined ? [] : [\`lte:\${until}\`]`,
    replacement: '[]',
    test: 'test/acceptance/mcp/tools.test.ts',
    name: 'lists documents as resources',
  },
];
