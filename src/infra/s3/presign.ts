// Signed forms and URLs, computed here without a round trip: AWS Signature Version 4 (query and POST policy) and,
// beside it in forms, the older HMAC-SHA1 policy signature that the interface's four fields come from.
// Native crypto and a key kept for the day make one signature a matter of microseconds; tests compare the results with
// those of the official presigners.

import { createHash, createHmac } from 'node:crypto';
import { FORM_RULES, type FormProfile } from './form-profiles.ts';
import { ALGORITHM, createSigner, encodeUriPart, encodeUriPath } from './signature-v4.ts';

export type SigningIdentity = {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
  bucket: string;
  /** The origin that clients reach; signatures cover its host. */
  publicEndpoint: string;
};

export type SignedForm = { url: string; fields: Record<string, string> };

export type Presigner = ReturnType<typeof createPresigner>;

export function createPresigner(identity: SigningIdentity, profile: FormProfile) {
  const { accessKeyId, bucket } = identity;
  const signer = createSigner(identity);
  const bucketUrl = `${identity.publicEndpoint}/${bucket}`;
  const host = new URL(identity.publicEndpoint).host;
  const rules = FORM_RULES[profile];

  /** `query`: parameters whose names come after `X-Amz-` in order, each with a leading `&`. */
  const signUrl = (
    method: 'GET' | 'PUT',
    options: { key: string; query: string; expiresInSeconds: number; now: Date },
  ): string => {
    const stamp = amzDate(options.now);
    const path = `/${bucket}/${encodeUriPath(options.key)}`;
    const scope = signer.scope(stamp);
    const query =
      `X-Amz-Algorithm=${ALGORITHM}&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD` +
      `&X-Amz-Credential=${encodeUriPart(`${accessKeyId}/${scope}`)}&X-Amz-Date=${stamp}&X-Amz-Expires=${options.expiresInSeconds}&X-Amz-SignedHeaders=host${options.query}`;
    const canonicalRequest = `${method}\n${path}\n${query}\nhost:${host}\n\nhost\nUNSIGNED-PAYLOAD`;
    const digest = createHash('sha256').update(canonicalRequest).digest('hex');
    const signature = signer.sign(stamp, `${ALGORITHM}\n${stamp}\n${scope}\n${digest}`);
    return `${identity.publicEndpoint}${path}?${query}&X-Amz-Signature=${signature}`;
  };

  return {
    /** A form that uploads one object of 0…`bytesMax` bytes to `key`, as `contentType`, until it expires. */
    form(options: {
      key: string;
      contentType: string;
      expiresInSeconds: number;
      bytesMax: number;
      now: Date;
    }): SignedForm {
      const { key, contentType, expiresInSeconds, bytesMax, now } = options;
      const stamp = amzDate(now);
      const v4 = {
        'x-amz-algorithm': ALGORITHM,
        'x-amz-credential': `${accessKeyId}/${signer.scope(stamp)}`,
        'x-amz-date': stamp,
      };
      const accessKeys = {
        StorageAccessKeyId: accessKeyId,
        ...(rules.awsAccessKeyField ? { AWSAccessKeyId: accessKeyId } : {}),
      };
      const type = { 'Content-Type': contentType };
      const conditions: unknown[] = [{ bucket }, { key }, type, ['content-length-range', 0, bytesMax]];
      for (const [name, value] of Object.entries(rules.signatureV4 ? v4 : {}))
        conditions.push({ [name]: value });
      if (rules.coverEveryField) {
        for (const [name, value] of Object.entries(accessKeys)) conditions.push({ [name]: value });
        conditions.push(['starts-with', '$signature', '']);
      }
      const expiration = new Date(now.getTime() + expiresInSeconds * 1000).toISOString();
      const policy = Buffer.from(JSON.stringify({ expiration, conditions })).toString('base64');
      const fields = {
        key,
        bucket,
        ...type,
        ...accessKeys,
        policy,
        signature: createHmac('sha1', identity.secretAccessKey).update(policy).digest('base64'),
        ...(rules.signatureV4 ? { ...v4, 'x-amz-signature': signer.sign(stamp, policy) } : {}),
      };
      return { url: bucketUrl, fields };
    },

    /**
     * A URL that gives `key` until it expires: to be saved as a file called `fileName`, or, with `inline`, to be shown
     * as that type.
     */
    downloadUrl(options: {
      key: string;
      fileName: string;
      inline?: { contentType: string } | undefined;
      expiresInSeconds: number;
      now: Date;
    }): string {
      const { key, fileName, inline, expiresInSeconds, now } = options;
      const query =
        `&response-content-disposition=${encodeUriPart(contentDisposition(inline === undefined ? 'attachment' : 'inline', fileName))}` +
        (inline === undefined ? '' : `&response-content-type=${encodeUriPart(inline.contentType)}`);
      return signUrl('GET', { key, query, expiresInSeconds, now });
    },

    /** A URL to which the bytes of `key` can be sent by PUT until it expires. */
    uploadUrl: (options: { key: string; expiresInSeconds: number; now: Date }): string =>
      signUrl('PUT', { ...options, query: '' }),
  };
}

/** `20261120T233856Z` */
const amzDate = (now: Date): string => `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

/** RFC 6266: an ASCII name for old clients, the exact one in UTF-8 for the others. */
function contentDisposition(kind: 'attachment' | 'inline', fileName: string): string {
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%/]/g, '_');
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encodeUriPart(fileName)}`;
}
