// Words and numbers in the reader's language.

import { fillIn, type Values } from './fill-in.ts';
import { namesOfMessages } from './languages/column.ts' with { type: 'macro' };
import { LANGUAGES, type MessageName } from './messages.ts';

type Language = (typeof LANGUAGES)[number];

export const language: Language = LANGUAGES.find((each) => each === document.documentElement.lang) ?? 'en';

/** Each language is a file of its own, of which a reader loads one. */
const LOADERS: Record<Language, () => Promise<{ TEXTS: readonly string[] }>> = {
  en: () => import('./languages/en.ts'),
  de: () => import('./languages/de.ts'),
};

const places = new Map<string, number>(namesOfMessages().map((name, at) => [name, at]));
let texts: readonly string[] = [];

/** Loads the reader's language; before that no message may be asked for. */
export async function loadTexts(): Promise<void> {
  texts = (await LOADERS[language]()).TEXTS;
}

export const isMessage = (name: string): name is MessageName => places.has(name);

/** The message in the reader's language. The build puts places where the source has names. */
export function t(name: MessageName, values: Values = {}): string {
  return fillIn(texts[typeof name === 'number' ? name : (places.get(name) ?? -1)] ?? name, values);
}

const integer = new Intl.NumberFormat(language);
const decimal = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
const money = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const smallMoney = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 4 });

export const formatNumber = (value: number): string =>
  Number.isInteger(value) ? integer.format(value) : decimal.format(value);
/** Sums below one have four decimals: a call of a model costs little. */
export const formatMoney = (value: number): string => (value < 1 ? smallMoney : money).format(value);

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export function formatBytes(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), BYTE_UNITS.length - 1);
  return `${decimal.format(bytes / 1000 ** power)} ${BYTE_UNITS[power]}`;
}

export const formatMilliseconds = (ms: number | null): string =>
  ms === null ? '–' : ms < 1000 ? `${decimal.format(ms)} ms` : `${decimal.format(ms / 1000)} s`;

const local = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
const localDate = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

/** In the reader's zone. */
export const formatTime = (time: Date): string => local.format(time);
export const formatDate = (time: Date): string => localDate.format(time);

/** “2 hours ago”, for times of the last and next days. */
export function formatRelative(time: Date, now = Date.now()): string {
  const distance = time.getTime() - now;
  const [unit, ms] = UNITS.find(([, each]) => Math.abs(distance) >= each) ?? ['second', 1000];
  return relative.format(Math.round(distance / ms), unit);
}

/** A time of the service; one without a zone is UTC. */
export const parseTime = (text: string): Date =>
  new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
