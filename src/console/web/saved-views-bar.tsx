import { useState } from 'preact/hooks';
import { Button } from './components/button.tsx';
import { forgetView, savedViews, saveView } from './saved-views.ts';
import { t } from './text.ts';

/** The views that this browser keeps, and the way to keep the present one; `search`: the query of the page. */
export function SavedViewsBar({ search }: { search: string }) {
  const [name, setName] = useState('');
  const [naming, setNaming] = useState(false);
  const views = savedViews.value;
  if (views.length === 0 && search === '') return null;
  return (
    <nav class="row" aria-label={t('library.views.saved')}>
      {views.map((view) => (
        <span class="filter" key={view.name}>
          <a class="name" href={`/admin/library${view.search}`}>
            {view.name}
          </a>
          <Button
            look="plain"
            aria-label={t('library.views.remove', { name: view.name })}
            onClick={() => forgetView(view.name)}
          >
            ✕
          </Button>
        </span>
      ))}
      {search === '' ? null : naming ? (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            saveView({ name: name.trim(), search });
            setName('');
            setNaming(false);
          }}
        >
          <input
            aria-label={t('library.views.name')}
            placeholder={t('library.views.name')}
            value={name}
            maxLength={60}
            required
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit">{t('action.save')}</Button>
        </form>
      ) : (
        <Button look="plain" onClick={() => setNaming(true)}>
          {t('library.views.save')}
        </Button>
      )}
    </nav>
  );
}
