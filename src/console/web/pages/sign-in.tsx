import { useEffect, useState } from 'preact/hooks';
import { answerOf, api } from '../api.ts';
import { Button } from '../components/button.tsx';
import { TextField } from '../components/field.tsx';
import { ErrorNotice, Notice } from '../components/notice.tsx';
import { useAction } from '../resource.ts';
import { hrefOf, navigate, place, query } from '../router.ts';
import { keepPlace, provider, signOnUrl } from '../sign-on.ts';
import { announceSession, session, wasEnded } from '../state.ts';
import { isMessage, t } from '../text.ts';

/** Reads who has signed in, and goes on where the sign-in was missing. */
async function enter(): Promise<void> {
  session.value = await answerOf(api.GET('/admin/api/session'));
  wasEnded.value = false;
  announceSession();
  if (place.value.page === 'sign-in') navigate(hrefOf('home'), { replace: true });
}

const signInWithKey = async (key: string): Promise<void> => {
  await answerOf(api.POST('/admin/api/session', { body: { key: key.trim() } }));
  await enter();
};

const signInWithLink = async (link: string): Promise<void> => {
  await answerOf(api.POST('/admin/api/session/link', { body: { link } }));
  await enter();
};

/** Problems after which the provider should ask again who the person is. */
const AS_SOMEBODY_ELSE = new Set(['no-access', 'no-email', 'disabled', 'other-person']);

/** The link to sign in at the provider, and the reason why the last sign-in there failed. */
function SignOn() {
  if (provider === undefined) return null;
  const { name } = provider;
  const problem = query.value.get('problem') ?? '';
  const sentence = `sign-in.problem.${problem}`;
  return (
    <>
      {isMessage(sentence) ? (
        <Notice tone="bad" title={t('sign-in.problem')}>
          {t(sentence, { name })}
        </Notice>
      ) : null}
      <a
        class="button primary"
        href={signOnUrl(AS_SOMEBODY_ELSE.has(problem) ? { prompt: 'login' } : {})}
        target="_self"
        onClick={keepPlace}
      >
        {t('sign-in.with', { name })}
      </a>
      <p class="soft">{t('sign-in.or')}</p>
    </>
  );
}

export default function SignIn() {
  const [key, setKey] = useState('');
  const entering = useAction();
  useEffect(() => {
    document.title = `${t('sign-in.title')} · Atrium`;
    const link = location.hash.slice(1);
    // A sign-in that another window has finished before, or that Back has repeated.
    if (query.value.get('problem') === 'expired' && session.value)
      navigate(hrefOf('home'), { replace: true });
    if (link === '') return;
    // The secret of the link does not stay in the history.
    history.replaceState(null, '', location.pathname + location.search);
    entering.run(() => signInWithLink(link));
  }, []);
  return (
    <main class="sign-in">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          entering.run(() => signInWithKey(key));
        }}
      >
        <div>
          <h1>{t('sign-in.title')}</h1>
          <p class="soft">{t('sign-in.about')}</p>
        </div>
        {wasEnded.value ? <Notice tone="warn" title={t('sign-in.ended')} /> : null}
        <SignOn />
        <ErrorNotice error={entering.error} />
        <TextField
          label={t('sign-in.key')}
          hint={t('sign-in.hint')}
          type="password"
          mono
          value={key}
          onValue={setKey}
          autocomplete="current-password"
          required
          autofocus={provider === undefined}
        />
        <div>
          <Button look={provider === undefined ? 'primary' : undefined} type="submit" busy={entering.busy}>
            {t('sign-in.enter')}
          </Button>
        </div>
      </form>
    </main>
  );
}
