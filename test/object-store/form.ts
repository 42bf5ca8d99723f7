// Signs upload forms as a service would, independently of the store's own code.
import { createHmac } from 'node:crypto';
import { BUCKET, CREDENTIALS, REGION, type TestStore } from './fixture.ts';

export type Condition = readonly unknown[] | Readonly<Record<string, unknown>>;

interface FormOptions {
  readonly fields?: Readonly<Record<string, string>>;
  /** Beside those for key and bucket. */
  readonly conditions?: readonly Condition[];
  readonly expiration?: string;
  readonly secretAccessKey?: string;
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

export function encodePolicy(conditions: readonly Condition[], expiration: string): string {
  return Buffer.from(JSON.stringify({ expiration, conditions })).toString('base64');
}

export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

function signVersion2(policy: string, secret = CREDENTIALS.secretAccessKey): string {
  return createHmac('sha1', secret).update(policy).digest('base64');
}

function signVersion4(policy: string, date: string, secret = CREDENTIALS.secretAccessKey): string {
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), REGION), 's3'), 'aws4_request');
  return hmac(key, policy).toString('hex');
}

/** key, policy, x-amz-*: what the current SDK makes. */
export function version4Form(key: string, options: FormOptions = {}): Record<string, string> {
  const timestamp = `${new Date().toISOString().replace(/[-:]/g, '').slice(0, 15)}Z`;
  const date = timestamp.slice(0, 8);
  const signed = {
    key,
    bucket: BUCKET,
    'x-amz-algorithm': 'AWS4-HMAC-SHA256',
    'x-amz-credential': `${CREDENTIALS.accessKeyId}/${date}/${REGION}/s3/aws4_request`,
    'x-amz-date': timestamp,
  };
  const conditions = [
    ...Object.entries(signed).map(([name, value]) => ({ [name]: value })),
    ...(options.conditions ?? []),
  ];
  const policy = encodePolicy(conditions, options.expiration ?? inSeconds(60));
  return {
    ...signed,
    policy,
    'x-amz-signature': signVersion4(policy, date, options.secretAccessKey),
    ...options.fields,
  };
}

/** The interface's four fields alone. */
export function fourFieldForm(key: string, options: FormOptions = {}): Record<string, string> {
  const conditions = [{ key }, ...(options.conditions ?? [])];
  const policy = encodePolicy(conditions, options.expiration ?? inSeconds(60));
  return {
    key,
    StorageAccessKeyId: CREDENTIALS.accessKeyId,
    policy,
    signature: signVersion2(policy, options.secretAccessKey),
    ...options.fields,
  };
}

/** The form that the service hands out: both versions in one, under one policy. */
export function supersetForm(key: string, options: FormOptions = {}): Record<string, string> {
  const { accessKeyId } = CREDENTIALS;
  const form = version4Form(key, {
    ...options,
    conditions: [
      ...(options.conditions ?? []),
      ['eq', '$StorageAccessKeyId', accessKeyId],
      ['eq', '$AWSAccessKeyId', accessKeyId],
      ['starts-with', '$signature', ''],
    ],
  });
  return {
    ...form,
    StorageAccessKeyId: accessKeyId,
    AWSAccessKeyId: accessKeyId,
    signature: signVersion2(form['policy'] ?? ''),
  };
}

export function toFormData(fields: Readonly<Record<string, string>>, content: string | File): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', typeof content === 'string' ? new File([content], 'upload.txt') : content);
  return form;
}

export function post(
  store: Pick<TestStore, 'endpoint'>,
  fields: Readonly<Record<string, string>>,
  content: string | File = 'content',
): Promise<Response> {
  const body = toFormData(fields, content);
  return fetch(`${store.endpoint}/${BUCKET}`, { method: 'POST', body, redirect: 'manual' });
}

const BOUNDARY = 'form-boundary-7f3a';

/** The bytes of a form up to where the file's content begins, and those behind it. */
export function renderForm(fields: Readonly<Record<string, string>>): {
  head: string;
  tail: string;
  type: string;
} {
  const part = (name: string, rest = '') =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n`;
  const head = Object.entries(fields).map(([name, value]) => `${part(name)}${value}\r\n`);
  return {
    head: head.join('') + part('file', '; filename="upload.bin"\r\nContent-Type: application/octet-stream'),
    tail: `\r\n--${BOUNDARY}--\r\n`,
    type: `multipart/form-data; boundary=${BOUNDARY}`,
  };
}
