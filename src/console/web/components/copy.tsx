import { useRef, useState } from 'preact/hooks';
import { t } from '../text.ts';
import { Button } from './button.tsx';

const SHOWN_MS = 2000;

/** Without TLS a browser has no clipboard for pages: there the shown text is selected and copied. */
async function write(text: string, shown: HTMLElement | null): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  if (shown !== null) getSelection()?.selectAllChildren(shown);
  if (!document.execCommand('copy')) throw new Error('The browser does not copy');
}

/** A text that is to be used elsewhere, with the button that copies it. */
export function Copy({ text, label }: { text: string; label?: string }) {
  const pre = useRef<HTMLPreElement>(null);
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await write(text, pre.current);
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return (
    <div class="copy">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre ref={pre} tabIndex={0}>
        {text}
      </pre>
      <Button onClick={() => void copy()} aria-label={label ?? t('action.copy')}>
        <span role="status">{done ? t('action.copied') : t('action.copy')}</span>
      </Button>
    </div>
  );
}
