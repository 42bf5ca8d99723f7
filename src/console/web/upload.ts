// One file on its way: the form from the service, the bytes straight to the object store, the confirmation.

import { answerOf, api, CallError, type Schemas } from './api.ts';
import { t } from './text.ts';

export type UploadOptions = {
  workspace: string;
  folder?: string | undefined;
  signal?: AbortSignal;
  /** Called with the bytes that were sent so far. */
  onProgress?(sent: number): void;
  /** The temporary key of an earlier try whose bytes all arrived: it is confirmed, and nothing is sent again. */
  tempKey?: string | undefined;
  /** Called with the temporary key when all bytes have arrived. */
  onArrived?(tempKey: string): void;
};

/** Throws CallError where a step fails, and an AbortError after `signal`. */
export async function upload(file: File, options: UploadOptions): Promise<Schemas['DocumentMetadataRead']> {
  const { workspace, folder } = options;
  return answerOf(
    api.POST('/admin/call/v1/{workspace_id}/upload/confirm', {
      params: { path: { workspace_id: workspace } },
      body: {
        temp_key: options.tempKey ?? (await send(file, options)),
        folder: folder || null,
        document_metadata: { name: file.name },
      },
    }),
  );
}

/** Sends the bytes, and returns the temporary key where they are. */
async function send(file: File, options: UploadOptions): Promise<string> {
  const params = { path: { workspace_id: options.workspace } };
  const form = await answerOf(
    api.GET('/admin/call/v1/{workspace_id}/presigned/url', {
      params,
      ...(options.signal && { signal: options.signal }),
    }),
  );
  await post(file, form, options);
  options.onArrived?.(form.fields.key);
  return form.fields.key;
}

/** By XMLHttpRequest, because fetch does not report the progress of an upload in every browser. */
function post(
  file: File,
  form: Schemas['UploadDescriptor'],
  { signal, onProgress }: UploadOptions,
): Promise<void> {
  const body = new FormData();
  for (const [name, value] of Object.entries(form.fields)) body.append(name, value);
  body.append('file', file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = (): void => request.abort();
    request.upload.onprogress = ({ loaded }) => onProgress?.(Math.min(loaded, file.size));
    request.onload = () =>
      request.status < 300 ? resolve() : reject(new CallError(request.status, explainStore(request)));
    request.onerror = () =>
      reject(new CallError(0, t('upload.blocked', { store: new URL(form.url).origin })));
    request.onabort = () => reject(new DOMException('cancelled', 'AbortError'));
    request.onloadend = () => signal?.removeEventListener('abort', abort);
    signal?.addEventListener('abort', abort);
    request.open('POST', form.url);
    request.send(body);
  });
}

/** The store answers XML; its message is a sentence. */
function explainStore({ status, responseXML }: XMLHttpRequest): string {
  const message = responseXML?.querySelector('Message')?.textContent;
  return t('upload.refused', { status, message: message ?? '' });
}
