// Choices of what exists: models that converse, and agents. A value that is gone stays a choice, and says so.

import { answerOf, api } from './api.ts';
import { type Choice, SelectField, TextField } from './components/field.tsx';
import { useResource } from './resource.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

type Props = { value: string; onValue(value: string): void; mistake: string | undefined };

/** Empty stands for the default model. */
export function ModelChoice({ value, onValue, mistake }: Props) {
  const state = useResource(() => answerOf(api.GET('/admin/api/models')), []);
  const able = (state.data?.models ?? []).filter(({ endpoints }) => endpoints.includes('chat'));
  const normal = able.find(({ default_of: defaults }) => defaults.includes('chat'))?.id;
  const isAbsent = value !== '' && !able.some(({ id }) => id === value);
  const choices: Choice[] = [
    { value: '', label: t('agents.model.default', { model: normal ?? '–' }) },
    ...able.map(({ id }) => ({ value: id, label: id })),
    ...(isAbsent
      ? [{ value, label: state.data === undefined ? value : t('agents.model.absent', { model: value }) }]
      : []),
  ];
  return (
    <SelectField
      label={t('playground.model')}
      value={value}
      onValue={onValue}
      choices={choices}
      mistake={mistake ?? state.error?.message}
    />
  );
}

/** More than these are not offered; their identifier is typed in. */
const AGENTS_MAX = 100;

const listAllAgents = (workspaceId: string) =>
  answerOf(
    api.GET('/admin/api/workspaces/{workspace_id}/agents', {
      params: { path: { workspace_id: workspaceId }, query: { limit: AGENTS_MAX } },
    }),
  );

/** Empty stands for the default agent of the workspace. */
export function AgentChoice({ value, onValue, mistake }: Props) {
  const agents = useResource(() => listAllAgents(workspace.value), [workspace.value]);
  const label = t('bots.agent');
  if (agents.data?.next_cursor)
    return <TextField label={label} value={value} onValue={onValue} mistake={mistake} mono />;
  const known = agents.data?.items ?? [];
  const isAbsent = value !== '' && !known.some(({ id }) => id === value);
  const choices: Choice[] = [
    { value: '', label: t('bots.agent.default') },
    ...known.map(({ id, name }) => ({ value: id, label: name === id ? id : `${name} (${id})` })),
    ...(isAbsent
      ? [{ value, label: agents.data === undefined ? value : t('bots.agent.absent', { agent: value }) }]
      : []),
  ];
  return (
    <SelectField
      label={label}
      value={value}
      onValue={onValue}
      choices={choices}
      mistake={mistake ?? agents.error?.message}
    />
  );
}
