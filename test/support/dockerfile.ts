// What a Dockerfile says, and a place in which its steps can run where there is no container engine: the system's programs,
// read-only, with the folders of the image beside them, in a mount namespace of their own. Needs root, as engines do.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

export type Instruction = { name: string; text: string };
/** `from`: the image or the stage that it begins with. */
export type Stage = { name: string | undefined; from: string; instructions: Instruction[] };

/** The stages of a Dockerfile, in order. */
export function parseDockerfile(text: string): Stage[] {
  const stages: Stage[] = [];
  const lines = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, ' ');
  for (const line of lines.split('\n').filter((each) => each.trim() !== '')) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === 'FROM') {
      const [from = '', , stage] = rest.split(/ +/);
      stages.push({ name: stage, from, instructions: [] });
    } else stages.at(-1)?.instructions.push({ name, text: rest });
  }
  return stages;
}

/** The instructions of a stage with this name, in order. */
export const textsOf = (stage: Stage | undefined, name: string): string[] =>
  (stage?.instructions ?? []).filter((each) => each.name === name).map(({ text }) => text);

/** The values of ENV. */
export const environmentOf = (stage: Stage | undefined): Record<string, string> =>
  Object.fromEntries(
    textsOf(stage, 'ENV').flatMap((text) =>
      text
        .split(' ')
        .map((pair): [string, string] => [
          pair.slice(0, pair.indexOf('=')),
          pair.slice(pair.indexOf('=') + 1),
        ]),
    ),
  );

/** Why no step can run here; undefined where they can. */
export function missingNamespaces(): string | undefined {
  const tools = ['unshare', 'nsenter', 'chroot', 'setpriv'].filter((tool) => Bun.which(tool) === null);
  if (process.platform === 'linux' && process.getuid?.() === 0 && tools.length === 0) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1') throw new Error('steps of a Dockerfile need root on Linux');
  return 'needs root on Linux';
}

/** Mounts the system below the root of an image, and begins the command there, in the same process. */
const ENTER = `set -e
root=$1 bun=$2 user=$3 workdir=$4; shift 4
mount --bind "$root" "$root"
for folder in usr bin sbin lib lib32 lib64 etc; do
  if [ -d "$root/$folder" ] && [ ! -L "$root/$folder" ]; then mount --rbind "/$folder" "$root/$folder"; mount -o remount,bind,ro "$root/$folder"; fi
done
mount --bind "$root/passwd" "$root/etc/passwd"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$bun" "$root/opt/bun"
mount -t tmpfs tmpfs "$root/tmp"
if [ "$user" = 0 ]; then
  mount --bind "$HOME" "$root/root"
  if [ -n "\${MODULES:-}" ]; then mkdir -p "$root/app/node_modules"; mount --bind "$MODULES" "$root/app/node_modules"; fi
  exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$workdir" "$@"
fi
mount --bind "$root/data" "$root/data"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --bounding-set=-all \\
  sh -c 'cd "$0" && exec "$@"' "$workdir" "$@"`;

/** Makes the folders into which the system is mounted. */
export function makeRoot(root: string): void {
  chmodSync(root, 0o755);
  for (const folder of ['proc', 'dev', 'tmp', 'opt', 'root', 'app'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const folder of ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'etc']) {
    if (!existsSync(`/${folder}`)) continue;
    if (lstatSync(`/${folder}`).isSymbolicLink()) symlinkSync(readlinkSync(`/${folder}`), join(root, folder));
    else mkdirSync(join(root, folder));
  }
  writeFileSync(join(root, 'opt/bun'), '');
  writeFileSync(join(root, 'passwd'), 'root:x:0:0::/root:/bin/sh\nbun:x:1000:1000::/home/bun:/bin/sh\n');
}

/**
 * The command line that runs a command in the root of an image. As user 0 it may write, and has the caches of this machine and the
 * packages of the folder that the variable MODULES names; as another one it has no capabilities, and may write below /data and
 * /tmp alone.
 */
export const enter = (root: string, user: number, command: readonly string[], workdir = '/app'): string[] => [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  'sh',
  '-c',
  ENTER,
  'enter',
  root,
  process.execPath,
  String(user),
  workdir,
  ...command,
];

/** The command line that runs another command beside the one that `enter` began as this process, as `docker exec` does. */
export const beside = (pid: number, user: number, command: readonly string[]): string[] => [
  'nsenter',
  `--target=${pid}`,
  '--mount',
  '--root',
  '--wd',
  'setpriv',
  `--reuid=${user}`,
  `--regid=${user}`,
  '--clear-groups',
  '--no-new-privs',
  '--bounding-set=-all',
  ...command,
];

/** Where `enter` has its programs. */
export const IMAGE_PATH = '/opt:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
