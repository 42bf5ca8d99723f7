import { useState } from 'preact/hooks';
import { t } from '../text.ts';
import { Button } from './button.tsx';

const SHOWN_MS = 2000;

/** A text that is to be used elsewhere, with the button that copies it. */
export function Copy({ text, label }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return (
    <div class="copy">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
      <Button onClick={() => void copy()} aria-label={label ?? t('action.copy')}>
        <span role="status">{done ? t('action.copied') : t('action.copy')}</span>
      </Button>
    </div>
  );
}
