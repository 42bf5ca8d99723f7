// The areas of the interface, in the order in which they are described.

/** `version`: the label that the interface gives the area; absent where it has none. */
type Tag = { name: string; description: string; version?: string };

const TAGS: readonly Tag[] = [
  {
    name: 'documents',
    version: '1.0.0',
    description:
      'Upload, find, describe, archive, bin and download files, whose bytes go straight to the store.',
  },
  {
    name: 'models',
    version: '0.0.0',
    description:
      'Chat completions, completions, embeddings and images, as in the API of OpenAI. Each operation stands below `/v1` ' +
      'and at the root; set the base URL of an SDK to `/v1` of this service.',
  },
  {
    name: 'chat',
    version: 'v1',
    description: 'Chat sessions of communication channels, and their messages.',
  },
  { name: 'bots', version: 'v1', description: 'The webhook of chat apps, and the registrations of bots.' },
  { name: 'mcp', description: 'Tools and resources for models, by the Model Context Protocol.' },
  { name: 'compute', version: 'v1', description: 'Work for the processor, to probe with.' },
  { name: 'metrics', description: 'Usage events: reading, recording and summing them.' },
  { name: 'access', description: 'Workspaces, the people in them, and their API keys.' },
  { name: 'administration', description: 'The state of the service and of what stands behind it.' },
  { name: 'health', description: 'Probes and metrics for those who operate the service. They need no key.' },
];

/** The tags of a document in which these areas occur, as the page shows them. */
export const toTags = (areas: ReadonlySet<string>) =>
  TAGS.filter(({ name }) => areas.has(name)).map(({ name, description, version }) => ({
    name,
    description: version === undefined ? description : `Version ${version}. ${description}`,
    ...(version === undefined ? {} : { 'x-version': version }),
  }));
