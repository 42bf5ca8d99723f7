import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { notFound, unavailable } from '../core/errors.ts';
import { acceptedEncoding } from '../http/accept.ts';
import { type Manifest, OUTPUT_FOLDER, readManifest } from './manifest.ts';

type Asset = {
  mediaType: string;
  identity: Uint8Array<ArrayBuffer>;
  br: Uint8Array<ArrayBuffer>;
  gzip: Uint8Array<ArrayBuffer>;
};

const MEDIA_TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The files of the front end, read when they are first asked for and kept in memory: about 0.5 MB. */
export function createAssets() {
  let loaded: { manifest: Manifest; assets: ReadonlyMap<string, Asset> } | undefined;
  const load = () => {
    if (loaded !== undefined) return loaded;
    const manifest = readManifest();
    if (manifest === undefined)
      throw unavailable(
        'The portal has not been built: `bun run start` builds it, as does `bun src/console/build.ts`',
      );
    loaded = { manifest, assets: new Map(manifest.files.map((name) => [name, readAsset(name)])) };
    return loaded;
  };
  return {
    /** Throws 503 where the front end has not been built. */
    manifest: (): Manifest => load().manifest,

    /** The file in the first of its encodings that the browser accepts. Throws 404 for other names. */
    answer(name: string, request: Request): Response {
      const asset = load().assets.get(name);
      if (asset === undefined) throw notFound('Not Found');
      const encoding = acceptedEncoding(request, ['br', 'gzip']);
      const headers = {
        'content-type': asset.mediaType,
        // The name changes with the content.
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
      };
      if (encoding === undefined) return new Response(asset.identity, { headers });
      return new Response(asset[encoding], { headers: { ...headers, 'content-encoding': encoding } });
    },
  };
}

function readAsset(name: string): Asset {
  const read = (suffix: string) => new Uint8Array(readFileSync(join(OUTPUT_FOLDER, `${name}${suffix}`)));
  const mediaType = MEDIA_TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  return { mediaType, identity: read(''), br: read('.br'), gzip: read('.gz') };
}
