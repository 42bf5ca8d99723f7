// Secrets that stand in files, as container platforms mount them: NAME_FILE is the path of the file that holds NAME.

import { readFileSync } from 'node:fs';
import { explain } from './errors.ts';
import { type Setting, SettingsError, type SettingsMistakes } from './settings-reader.ts';

export type Environment = Record<string, string | undefined>;

/**
 * The environment with the values of the secret settings whose `NAME_FILE` is given. It is a mistake if a file cannot be read or is
 * empty, or if a setting is also given itself.
 */
export function withSecretFiles(
  table: Record<string, Setting>,
  environment: Environment,
  mistakes: SettingsMistakes,
): Environment {
  const found = Object.entries(table)
    .filter(([name, { secret }]) => secret === true && isGiven(environment[`${name}_FILE`]))
    .map(([name]) => [name, mistakes.attempt(() => readVariable(environment, name))]);
  return { ...environment, ...Object.fromEntries(found) };
}

/**
 * The variable, or what is in the file that `NAME_FILE` names, without the blanks and line breaks around it; undefined where neither
 * is given. The file is read at each call. Throws SettingsError.
 */
export function readVariable(environment: Environment, name: string): string | undefined {
  const path = environment[`${name}_FILE`]?.trim();
  if (!isGiven(path)) return environment[name];
  if (isGiven(environment[name]))
    throw new SettingsError(`${name} and ${name}_FILE are both set: the value comes from one of them`);
  const text = readText(`${name}_FILE`, path).trim();
  if (text === '') throw new SettingsError(`${name}_FILE: ${path}: the file is empty`);
  return text;
}

const isGiven = (text: string | undefined): text is string => text !== undefined && text.trim() !== '';

function readText(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new SettingsError(`${setting}: ${path}: ${explain(error)}`, { cause: error });
  }
}
