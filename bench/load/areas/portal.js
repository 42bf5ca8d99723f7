// What the portal's pages ask for, with the cookie of a person who is signed in: a page is all of its calls.

import { get, oneOf, setting } from '../lib.js';

const options = { headers: { cookie: setting.cookie } };
const workspace = `/admin/api/workspaces/${setting.workspace}`;
const since = encodeURIComponent(setting.since);
const calls = '/admin/call';

const page = (name, paths) => () => {
  for (const path of paths) get(`portal: ${name}`, path, options);
};
const home = page('home', [
  `${workspace}/model-usage?from=${since}&group_by=day`,
  `${calls}/api/v1/workspace_metric/${setting.workspace}/summary?group_by=day&size=100`,
  `${workspace}/trends`,
  '/admin/api/status',
  `${workspace}/keys?limit=2`,
]);
const library = page('library', [
  `${calls}/v1/filter/${setting.workspace}?size=50`,
  `${calls}/v1/metadata/${setting.workspace}/folders/list`,
]);
const people = page('people', [`${workspace}/users`, `${workspace}/keys`]);
const audit = page('audit', [`${workspace}/audit`]);

export const portal = () =>
  oneOf([
    [3, home],
    [4, library],
    [1, people],
    [1, audit],
  ]);
