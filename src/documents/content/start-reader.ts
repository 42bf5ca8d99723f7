// How a reader's process is started: without network, where the platform lets the service take it away.

import { OFFLINE } from './protocol.ts';

/**
 * As root, or where users may have namespaces of their own, `unshare` starts a process without network. No file that the process
 * has read is in a core dump, and no program that it could start gives it more rights. Each command replaces the shell,
 * so that the process is the service's own child.
 */
const START = `ulimit -c 0
rights=
setpriv --no-new-privs true 2>/dev/null && rights='setpriv --no-new-privs'
for namespace in 'unshare -n' 'unshare -U -n'; do
  $namespace true 2>/dev/null && exec $namespace $rights "$@" ${OFFLINE}
done
exec $rights "$@"`;

export const readerCommand = (): string[] => {
  const reader = [process.execPath, new URL('./reader.ts', import.meta.url).pathname];
  return process.platform === 'win32' ? reader : ['/bin/sh', '-c', START, 'reader', ...reader];
};
