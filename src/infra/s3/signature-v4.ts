// What those who make and those who check a Signature Version 4 share: its keys, its scope, its encoding of URIs.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import { createHmac } from 'node:crypto';

export const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Signed URLs are valid for a week at most. */
const DERIVED_KEYS_MAX = 16;

export type Signer = ReturnType<typeof createSigner>;

/** The key of a day is derived once: that saves four HMACs a signature. */
export function createSigner(identity: { secretAccessKey: string; region: string }) {
  const { secretAccessKey, region } = identity;
  const derived = new Map<string, Buffer>();
  function keyOf(day: string): Buffer {
    const known = derived.get(day);
    if (known !== undefined) return known;
    const key = [day, region, 's3', 'aws4_request'].reduce<Buffer>(
      hmac,
      Buffer.from(`AWS4${secretAccessKey}`),
    );
    if (derived.size >= DERIVED_KEYS_MAX) derived.clear();
    derived.set(day, key);
    return key;
  }
  return {
    /** `<yyyymmdd>/<region>/s3/aws4_request` of a date that begins so. */
    scope: (date: string) => `${date.slice(0, 8)}/${region}/s3/aws4_request`,
    /** Hex signature of a string to sign, under the key of a date that begins with yyyymmdd. */
    sign: (date: string, text: string) => hmac(keyOf(date.slice(0, 8)), text).toString('hex'),
  };
}

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Encodes every byte but A-Z a-z 0-9 - . _ ~ as %XX, upper case. */
export const encodeUriPart = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** As encodeUriPart, but keeps `/`. */
export const encodeUriPath = (path: string): string => encodeUriPart(path).replaceAll('%2F', '/');
