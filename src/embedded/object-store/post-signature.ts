// The signature of an upload form, over its policy: Version 4, or Version 2 as old browser forms have it.

import { createHmac } from 'node:crypto';
import { ALGORITHM, type Signer } from '../../infra/s3/signature-v4.ts';
import { S3Error } from './errors.ts';
import {
  assertOwnCredential,
  type Credentials,
  isSameSignature,
  parseCredential,
  parseTimestamp,
} from './signature.ts';

type Fields = ReadonlyMap<string, string>;

/**
 * The returned function answers the signed policy, still in base64. A form that has anything of Version 4
 * is judged by that alone; the fields of Version 2 may then be there for other stores. Throws AccessDenied
 * for a form without policy or signature, InvalidAccessKeyId, SignatureDoesNotMatch.
 */
export function createFormVerifier({ credentials, signer }: { credentials: Credentials; signer: Signer }) {
  return function verifyForm(fields: Fields): string {
    const policy = fields.get('policy');
    if (policy === undefined) throw new S3Error('AccessDenied');
    const isVersion4 = ['x-amz-signature', 'x-amz-algorithm', 'x-amz-credential'].some((name) =>
      fields.has(name),
    );
    if (isVersion4) assertVersion4(fields, policy);
    else assertVersion2(fields, policy);
    return policy;
  };

  function assertVersion4(fields: Fields, policy: string): void {
    const scope = parseCredential(fields.get('x-amz-credential') ?? '');
    const timestamp = fields.get('x-amz-date') ?? '';
    if (fields.get('x-amz-algorithm') !== ALGORITHM) throw invalidField('x-amz-algorithm');
    if (scope === undefined) throw invalidField('x-amz-credential');
    if (parseTimestamp(timestamp) === undefined || !timestamp.startsWith(scope.date))
      throw invalidField('x-amz-date');
    assertOwnCredential(scope, credentials);
    const expected = signer.sign(scope.date, policy);
    if (!isSameSignature(fields.get('x-amz-signature') ?? '', expected))
      throw new S3Error('SignatureDoesNotMatch');
  }

  /** Version 2 names the access key AWSAccessKeyId; the interface's own form calls it StorageAccessKeyId. */
  function assertVersion2(fields: Fields, policy: string): void {
    const given = ['awsaccesskeyid', 'storageaccesskeyid'].flatMap((name) => fields.get(name) ?? []);
    const signature = fields.get('signature');
    if (given.length === 0 || signature === undefined) throw new S3Error('AccessDenied');
    if (given.some((accessKeyId) => accessKeyId !== credentials.accessKeyId))
      throw new S3Error('InvalidAccessKeyId');
    const expected = createHmac('sha1', credentials.secretAccessKey).update(policy).digest('base64');
    if (!isSameSignature(signature, expected)) throw new S3Error('SignatureDoesNotMatch');
  }
}

const invalidField = (name: string): S3Error =>
  new S3Error('InvalidArgument', `The form field ${name} is missing or not valid.`);
