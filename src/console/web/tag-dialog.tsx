import { useState } from 'preact/hooks';
import { Dialog } from './components/dialog.tsx';
import { TextField } from './components/field.tsx';
import { Form, FormButtons } from './components/form.tsx';
import { patchDocument, type Row } from './library-data.ts';
import { useAction } from './resource.ts';
import { formatNumber, t } from './text.ts';

/** The words of a field, separated by commas; without repeats. */
export const toWords = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((word) => word.trim())
      .filter(Boolean),
  ),
];

type TagDialogProps = {
  chosen: readonly Row[];
  onClose(): void;
  /** Does it to each chosen document. */
  apply(act: (id: string) => Promise<unknown>): Promise<void>;
};

/** Adds tags to documents, which keep their other tags. */
export function TagDialog({ chosen, onClose, apply }: TagDialogProps) {
  const [text, setText] = useState('');
  const acting = useAction();
  const present = new Map(chosen.map(({ id, tags }) => [id, tags ?? []]));
  const add = (id: string) =>
    patchDocument(id, { tags: [...new Set([...(present.get(id) ?? []), ...toWords(text)])] });
  return (
    <Dialog title={t('library.tag.title', { count: formatNumber(chosen.length) })} onClose={onClose}>
      <Form acting={acting} run={() => apply(add).then(onClose)}>
        <TextField
          label={t('library.tags')}
          hint={t('library.words')}
          value={text}
          onValue={setText}
          required
          autofocus
        />
        <FormButtons submit={t('library.tag')} busy={acting.busy} onClose={onClose} />
      </Form>
    </Dialog>
  );
}
