// A browser without scripts: it keeps cookies, follows redirections, and sends of other sites' navigations what browsers send.

type Cookie = { value: string; path: string; sameSite: string };

export type Page = { url: string; status: number; headers: Headers; text: string };

/** As browsers limit it. */
const REDIRECTIONS_MAX = 20;

/** What causes a request. */
type Options = { via?: readonly string[]; form?: Record<string, string>; method?: string };

export type Visitor = ReturnType<typeof createVisitor>;

export function createVisitor() {
  /** By host without port, as in browsers, and name. */
  const jars = new Map<string, Map<string, Cookie>>();
  const jarOf = (url: URL): Map<string, Cookie> => {
    const jar = jars.get(url.hostname) ?? new Map<string, Cookie>();
    jars.set(url.hostname, jar);
    return jar;
  };

  const keep = (url: URL, headers: Headers): void => {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/;\s*/);
      const of = (name: string): string | undefined =>
        attributes.find((each) => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
      const name = pair.slice(0, pair.indexOf('='));
      const isOver = of('max-age') === '0' || Date.parse(of('expires') ?? '') < Date.now();
      if (isOver) jarOf(url).delete(name);
      else
        jarOf(url).set(name, {
          value: pair.slice(name.length + 1),
          path: of('path') ?? '/',
          sameSite: of('samesite')?.toLowerCase() ?? 'lax',
        });
    }
  };

  const cookiesFor = (url: URL, fromOtherSite: boolean): string =>
    [...jarOf(url)]
      .filter(([, { path }]) => url.pathname === path || url.pathname.startsWith(path.replace(/\/?$/, '/')))
      .filter(([, { sameSite }]) => !fromOtherSite || sameSite !== 'strict')
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');

  /** One request. `via`: the hosts of the page that causes it and of the redirections before it. */
  async function load(address: string, { via = [], form, method = 'GET' }: Options = {}): Promise<Page> {
    const url = new URL(address);
    const fromOtherSite = via.some((host) => host !== url.hostname);
    const response = await fetch(url, {
      method: form === undefined ? method : 'POST',
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        'user-agent': 'visitor',
        cookie: cookiesFor(url, fromOtherSite),
        'sec-fetch-site': fromOtherSite ? 'cross-site' : via.length === 0 ? 'none' : 'same-origin',
        ...(method === 'GET' ? {} : { origin: url.origin }),
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    keep(url, response.headers);
    return { url: address, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Follows redirections to the first page, or to the first address that `until` matches, which is not loaded. */
  async function visit(address: string, options: Options & { until?: RegExp } = {}): Promise<Page> {
    let page = await load(address, options);
    const via = [...(options.via ?? [])];
    while (page.status >= 300 && page.status < 400) {
      if (via.length > REDIRECTIONS_MAX) throw new Error(`too many redirections: ${page.url}`);
      via.push(new URL(page.url).hostname);
      const next = new URL(page.headers.get('location') ?? '', page.url).href;
      if (options.until?.test(next) === true) return { ...page, url: next };
      page = await load(next, { via });
    }
    return page;
  }

  return {
    load,
    visit,
    /** The value of a cookie. */
    cookie: (host: string, name: string): string | undefined => jars.get(host)?.get(name)?.value,
    forget: (host: string, name: string): void => void jars.get(host)?.delete(name),
    give: (host: string, name: string, value: string, path: string): void => {
      const jar = jars.get(host) ?? new Map<string, Cookie>();
      jars.set(host, jar);
      jar.set(name, { value, path, sameSite: 'lax' });
    },
  };
}
