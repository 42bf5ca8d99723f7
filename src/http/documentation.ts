// The documentation of this version, for people who read it in a browser without internet: the folder docs/ as pages.

import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { notFound } from '../core/errors.ts';
import type { Http } from './http.ts';
import { parameters } from './input.ts';
import { answerTextPage, OVERVIEW_PATH } from './text-page.ts';

const FOLDER = join(import.meta.dir, '../../docs');
const IMAGES: Record<string, string> = { png: 'image/png', svg: 'image/svg+xml' };

/** Relative links work, because the pages have the places that they have in the folder. */
const DOCUMENTATION_PATH = '/docs/pages/*';

export function createDocumentation({ plugin }: Http) {
  let files: ReadonlySet<string> | undefined;
  const listFiles = () => (files ??= new Set(new Bun.Glob('**/*.{md,png,svg}').scanSync(FOLDER)));
  const rendered = new Map<string, string>();
  return new Elysia({ name: 'documentation', tags: ['docs'] }).use(plugin).get(
    DOCUMENTATION_PATH,
    ({ params: { page } }) => {
      if (!listFiles().has(page)) throw notFound('Not Found');
      const mediaType = IMAGES[page.slice(page.lastIndexOf('.') + 1)];
      if (mediaType !== undefined)
        return new Response(Bun.file(join(FOLDER, page)), { headers: { 'content-type': mediaType } });
      const body = rendered.get(page) ?? renderPage(page, listFiles());
      rendered.set(page, body);
      return answerTextPage(`${page} – Atrium`, body);
    },
    { params: parameters(Type.Object({ page: Type.String() })), detail: { hide: true } },
  );
}

/** A link that leads out of the folder, to files of the repository, is text; so is a picture that is not here. */
function renderPage(page: string, files: ReadonlySet<string>): string {
  const isHere = (target: string | null): boolean => {
    if (target === null || /^(?:[a-z]+:|#|\/)/.test(target)) return true;
    return files.has(posix.join(posix.dirname(page), target.replace(/#.*/, '')));
  };
  const html = Bun.markdown.html(readFileSync(join(FOLDER, page), 'utf8'), { headings: { ids: true } });
  const body = new HTMLRewriter()
    .on('a', {
      element: (link) => {
        if (!isHere(link.getAttribute('href'))) link.removeAndKeepContent();
      },
    })
    .on('picture, img', {
      element: (picture) => {
        if (!isHere(picture.getAttribute('src'))) picture.remove();
      },
    })
    .transform(html);
  return `<nav><a href="/">Atrium</a> · <a href="${OVERVIEW_PATH}">Documentation</a></nav>\n<main>${body}</main>`;
}
