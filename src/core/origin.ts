const ANY_ADDRESS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The origin by which this machine reaches what listens on `host`, which may mean any address. */
export function toOrigin(host: string, port: number): string {
  const reachable = ANY_ADDRESS[host] ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** A URL without user, password, query and fragment. */
export function withoutCredentials(text: string): string {
  const url = URL.parse(text);
  if (url === null) return '…';
  Object.assign(url, { username: '', password: '', search: '', hash: '' });
  return url.href.replace(/\/$/, '');
}

/** Whether only this machine can reach what listens on `host`. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
