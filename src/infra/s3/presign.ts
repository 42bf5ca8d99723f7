// Signed forms and URLs, made by the official packages without a round trip. The four names of the interface's form are
// added to what the package makes; of the signatures, the older HMAC-SHA1 of the policy alone is computed here.

import { createHmac } from 'node:crypto';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { createPresignedPost } from '@aws-sdk/s3-presigned-post';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { FORM_RULES, type FormProfile } from './form-profiles.ts';
import { createSdkClient, type SigningIdentity } from './sdk.ts';
import { encodeUriPart } from './signature-v4.ts';

/** It is made of the policy, which therefore cannot tell it. */
const ANY_SIGNATURE: ['starts-with', string, string] = ['starts-with', '$signature', ''];

export type SignedForm = { url: string; fields: Record<string, string> };

export type Presigner = ReturnType<typeof createPresigner>;

/** Signatures cover the host of `endpoint`: the one that the holder of a form or URL reaches. */
export function createPresigner(identity: SigningIdentity, endpoint: string, profile: FormProfile) {
  const { accessKeyId, bucket } = identity;
  const client = createSdkClient(identity, endpoint);
  const rules = FORM_RULES[profile];
  const accessKeys = {
    StorageAccessKeyId: accessKeyId,
    ...(rules.awsAccessKeyField ? { AWSAccessKeyId: accessKeyId } : {}),
  };

  return {
    /** A form that uploads one object of 0…`bytesMax` bytes to `key`, as `contentType`, until it expires. */
    async form(options: {
      key: string;
      contentType: string;
      expiresInSeconds: number;
      bytesMax: number;
    }): Promise<SignedForm> {
      const { key, contentType, expiresInSeconds, bytesMax } = options;
      const made = await createPresignedPost(client, {
        Bucket: bucket,
        Key: key,
        Expires: expiresInSeconds,
        // The package names every field that it is given in the policy.
        Fields: { 'Content-Type': contentType, ...(rules.coverEveryField ? accessKeys : {}) },
        Conditions: [
          ['content-length-range', 0, bytesMax],
          ...(rules.coverEveryField ? [ANY_SIGNATURE] : []),
        ],
      });
      const { Policy: policy = '', ...others } = made.fields;
      const signature = createHmac('sha1', identity.secretAccessKey).update(policy).digest('base64');
      const type = { 'Content-Type': contentType };
      const fields: Record<string, string> = { key, bucket, ...type, ...accessKeys, policy, signature };
      for (const [name, value] of Object.entries(others)) fields[nameOf(name)] = value;
      return { url: made.url, fields };
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
    }): Promise<string> {
      const { key, fileName, inline, expiresInSeconds, now } = options;
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ResponseContentDisposition: contentDisposition(
          inline === undefined ? 'attachment' : 'inline',
          fileName,
        ),
        ResponseContentType: inline?.contentType,
      });
      return getSignedUrl(client, command, { expiresIn: expiresInSeconds, signingDate: now });
    },

    /** A URL to which the bytes of `key` can be sent by PUT until it expires. */
    uploadUrl(options: { key: string; expiresInSeconds: number; now: Date }): Promise<string> {
      const { key, expiresInSeconds, now } = options;
      const command = new PutObjectCommand({ Bucket: bucket, Key: key });
      return getSignedUrl(client, command, { expiresIn: expiresInSeconds, signingDate: now });
    },
  };
}

/** `x-amz-*` is sent in lower case; stores compare names, also with those of the policy, without regard to case. */
const nameOf = (made: string): string => (made.startsWith('X-Amz-') ? made.toLowerCase() : made);

/** RFC 6266: an ASCII name for old clients, the exact one in UTF-8 for the others. */
function contentDisposition(kind: 'attachment' | 'inline', fileName: string): string {
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%/]/g, '_');
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encodeUriPart(fileName)}`;
}
