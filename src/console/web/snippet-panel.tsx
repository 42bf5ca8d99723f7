import { useState } from 'preact/hooks';
import { Copy } from './components/copy.tsx';
import { Select } from './components/field.tsx';
import { Section } from './components/page.tsx';
import { LANGUAGES, renderSnippet, type SnippetLanguage } from './snippets.ts';
import { t } from './text.ts';

/** Calls in a language of the reader's choice. */
export function SnippetPanel({ calls }: { calls: readonly Parameters<typeof renderSnippet>[1][] }) {
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  return (
    <Section
      title={t('playground.code')}
      aside={
        <Select
          label={t('account.language')}
          value={language}
          onValue={(value) => setLanguage(value as SnippetLanguage)}
          choices={LANGUAGES.map((value) => ({ value, label: value }))}
        />
      }
    >
      {calls.map((call, at) => (
        <Copy key={at} text={renderSnippet(language, call, location.origin)} />
      ))}
    </Section>
  );
}
