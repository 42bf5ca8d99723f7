// The pages of the portal, as they stand in its URLs. The server and the front end both read this list.

export const PAGES = [
  'home',
  'keys',
  'people',
  'workspaces',
  'library',
  'knowledge',
  'usage',
  'models',
  'playground',
  'conversations',
  'agents',
  'bots',
  'events',
  'health',
  'audit',
  'sessions',
  'sign-in',
  'components',
] as const;
export type PageName = (typeof PAGES)[number];

export const isPage = (name: string): name is PageName => (PAGES as readonly string[]).includes(name);
