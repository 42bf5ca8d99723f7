import { useEffect, useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { ErrorNotice } from './components/notice.tsx';
import { useResource } from './resource.ts';
import { hrefWith } from './router.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';
import { storedCount } from './uploads.ts';

type Folder = Schemas['Folder'];

/** A folder is the filter of all documents in it and below it; `place` is its bucket, workspace and path, with a slash at the end. */
const ATTRIBUTE = 'storage_url';
const OPERATOR = 'starts_with:';

/** The `place` of the folder that the filters name; undefined where they name none. */
function placeOf(where: URLSearchParams): string | undefined {
  const inWorkspace = (place: string): boolean => place.split('/')[1] === workspace.value;
  return where
    .getAll(ATTRIBUTE)
    .filter((value) => value.startsWith(OPERATOR) && value.endsWith('/'))
    .map((value) => value.slice(OPERATOR.length))
    .find(inWorkspace);
}

/** The path of the folder that the filters name, as uploads give it; `''` where they name none. */
export const folderOf = (where: URLSearchParams): string =>
  (placeOf(where) ?? '').split('/').slice(2, -1).join('/');

/** The address of the library with this folder instead of the present one; undefined: with none. */
function hrefOfPlace(where: URLSearchParams, place: string | undefined): string {
  const present = placeOf(where);
  const others = [...where].filter(
    ([name, value]) => !(name === ATTRIBUTE && value === `${OPERATOR}${present}`),
  );
  const chosen = place === undefined ? [] : [[ATTRIBUTE, `${OPERATOR}${place}`]];
  return hrefWith({ where: new URLSearchParams([...others, ...chosen]).toString(), page: undefined });
}

/** The folder of a document as a link, by its location `s3://bucket/workspace/folder/file`; nothing where it has none. */
export function FolderLink({ url, where }: { url: string; where: URLSearchParams }) {
  const place = url.slice('s3://'.length, url.lastIndexOf('/') + 1);
  const path = place.split('/').slice(2, -1).join('/');
  if (path === '') return <span class="soft">–</span>;
  return (
    <a class="name short" href={hrefOfPlace(where, place)} title={path}>
      {path}
    </a>
  );
}

const readFolders = (parent: string, cursor: string): Promise<Schemas['FolderList']> =>
  answerOf(
    api.GET('/admin/call/v1/metadata/{workspace_id}/folders/list', {
      params: { path: { workspace_id: workspace.value }, query: { parent, cursor } },
    }),
  );

/** The way from the top to the open folder, and the folders in it; nothing in a library without folders. */
export function Folders({ where }: { where: URLSearchParams }) {
  const parent = folderOf(where);
  const [cursor, setCursor] = useState('');
  useEffect(() => setCursor(''), [parent]);
  const folders = useResource(() => readFolders(parent, cursor), [parent, cursor, storedCount.value]);
  const { items = [], next_cursor: next = null } = folders.data ?? {};
  if (folders.error !== undefined) return <ErrorNotice error={folders.error} retry={folders.reload} />;
  if (parent === '' && items.length === 0 && cursor === '') return null;
  return (
    <nav class="folders" aria-label={t('library.folders')}>
      <Trail where={where} />
      <ul class="row">
        {items.map((folder) => (
          <li key={folder.path}>
            <FolderName of={folder} where={where} />
          </li>
        ))}
        {cursor === '' ? null : (
          <li>
            <Button look="plain" onClick={() => setCursor('')}>
              {t('library.folders.first')}
            </Button>
          </li>
        )}
        {next === null ? null : (
          <li>
            <Button look="plain" onClick={() => setCursor(next)}>
              {t('library.folders.more')}
            </Button>
          </li>
        )}
      </ul>
    </nav>
  );
}

const FolderName = ({ of: { name, storage_url: url }, where }: { of: Folder; where: URLSearchParams }) => (
  <a class="folder name" href={hrefOfPlace(where, url.slice('s3://'.length))}>
    {name}
  </a>
);

/** Each folder above the open one is a link. */
function Trail({ where }: { where: URLSearchParams }) {
  const place = placeOf(where);
  if (place === undefined) return <span class="trail soft">{t('library.folders')}</span>;
  const segments = place.split('/').slice(0, -1);
  return (
    <ol class="row trail">
      <li>
        <a href={hrefOfPlace(where, undefined)}>{t('library.folders.all')}</a>
      </li>
      {segments.slice(2).map((name, at) => {
        const upTo = `${segments.slice(0, at + 3).join('/')}/`;
        return (
          <li key={upTo}>
            {upTo === place ? (
              <span class="name" aria-current="true">
                {name}
              </span>
            ) : (
              <a class="name" href={hrefOfPlace(where, upTo)}>
                {name}
              </a>
            )}
          </li>
        );
      })}
    </ol>
  );
}
