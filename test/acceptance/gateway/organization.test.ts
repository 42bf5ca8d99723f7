// Whose account at an upstream is used: the operator says, or lets callers say.

import { expect, test } from 'bun:test';
import { type ModelsFile, startGateway } from '../../support/gateway.ts';
import { shared } from '../../support/shared.ts';
import { createClient } from './client.ts';

const modelsFile = (mockUrl: string): ModelsFile => {
  const to = (upstream: string) => ({ targets: [{ upstream, model: `ok+key=${upstream}` }] });
  const base_url = `${mockUrl}/v1`;
  return {
    upstreams: {
      kept: { base_url },
      passed: { base_url, pass_organization: true },
      own: { base_url, headers: { 'OpenAI-Organization': 'org-own' } },
      both: { base_url, pass_organization: true, headers: { 'OpenAI-Organization': 'org-own' } },
    },
    models: Object.fromEntries(['kept', 'passed', 'own', 'both'].map((name) => [name, to(name)])),
  };
};

const gateway = await shared(startGateway(modelsFile));

const CHOSEN = { 'OpenAI-Organization': 'org-theirs', 'OpenAI-Project': 'proj-theirs' };

async function ask(model: string, stream: boolean) {
  const headers = { ...CHOSEN, 'OpenAI-Beta': 'assistants=v2' };
  const answer = await createClient(gateway).ask(model, { headers, body: { stream } });
  expect(answer.status).toBe(200);
  await answer.text();
  const seen = (await gateway.mock.state(model)).last.at(-1)?.headers ?? {};
  expect(seen['openai-beta']).toBe('assistants=v2');
  return {
    sent: [seen['openai-organization'], seen['openai-project']],
    told: answer.headers.get('openai-organization'),
  };
}

for (const stream of [false, true]) {
  const way = stream ? 'streamed' : 'whole';
  test(`callers neither choose the organisation and project of an upstream nor read them: ${way}`, async () => {
    expect(await ask('kept', stream)).toEqual({ sent: [undefined, undefined], told: null });
    expect(await ask('own', stream)).toEqual({ sent: ['org-own', undefined], told: null });
  });

  test(`with pass_organization they do both, but never in the place of the operator's own: ${way}`, async () => {
    expect(await ask('passed', stream)).toEqual({ sent: ['org-theirs', 'proj-theirs'], told: 'org-mock' });
    expect(await ask('both', stream)).toEqual({ sent: ['org-own', 'proj-theirs'], told: 'org-mock' });
  });
}
