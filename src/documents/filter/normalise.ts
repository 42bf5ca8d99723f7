/**
 * Text as filters compare it and order it: trimmed, NFKD-decomposed, lower-cased. Accents stay, as combining marks.
 * Both engines store and are asked for text in this form, so that neither folds text by rules of its own.
 */
export const normalise = (text: string): string => text.trim().normalize('NFKD').toLowerCase();
