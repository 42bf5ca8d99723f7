import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';

/** The folder that build.ts fills. */
export const OUTPUT_FOLDER = join(import.meta.dir, '../../build/console');

/** Where the files of the build are served. */
export const ASSETS_PATH = '/admin/assets/';

/** The files of a build. */
export type Manifest = {
  /** The hash of the sources. */
  inputs: string;
  /** The file that a page begins with, and its style. */
  script: string;
  style: string;
  /** The file with the texts of each language, by the language's code. */
  languages: Record<string, string>;
  files: string[];
};

/** The manifest of the build; undefined where there is none. */
export function readManifest(): Manifest | undefined {
  try {
    return parseJson(readFileSync(join(OUTPUT_FOLDER, 'manifest.json'), 'utf8')) as Manifest;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
