// E-mail addresses, as people are identified by them.

import { toNormalForm } from './normal-form.ts';

const LENGTH_MAX = 320;
const FORM = /^[^\s@]+@[^\s@]+$/u;

/**
 * One `@` with something on both sides and no blanks; whether the address exists is not checked. An address that
 * compatibility normalisation changes is none: it looks like the address of somebody else.
 */
export const isEmail = (text: string): boolean =>
  text.length <= LENGTH_MAX && FORM.test(text) && toNormalForm(text, 'NFKC') === text;

/**
 * An address as it is compared and kept. Only ASCII letters are lower-cased: the lower case of some other letters is ASCII
 * (U+212A becomes `k`), so that two addresses would become one.
 */
export const toEmailKey = (text: string): string =>
  text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
