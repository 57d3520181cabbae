import { isRecord } from '../core/record.ts';
import { Problem } from './errors.ts';
import { DEEPEST, type Json, plain, type Reading, TOO_DEEP } from './read/project.ts';

/** Names under which a text is a word or a name that statistics are about; a text under any other name is dropped. */
const TEXTS = new Set(
  `name display_name group_name account_name key_name model models model_name requested_model upstream_model public_model
  platform provider target_platform match_type type kind status state mode billing_mode action source scope category
  level severity phase date day hour week month time timestamp bucket period window range time_range interval granularity
  timezone unit currency version endpoint service_tier plan tier label`.split(/\s+/),
);
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
const ID_NAME = /(?:^|_)ids?$/;
const ID_TEXT = /^\d{1,19}$/;

const isMeasure = (text: string, name: string): boolean =>
  TEXTS.has(name) || TIME.test(text) || (ID_NAME.test(name) && ID_TEXT.test(text));

/** The items of a list go by the name of the list. */
const measure = (value: unknown, name: string, depth: number): Json | undefined => {
  if (typeof value === 'string') return isMeasure(value, name) ? value : undefined;
  if (typeof value !== 'object' || value === null) return plain(value);
  if (depth > DEEPEST) return TOO_DEEP;
  if (Array.isArray(value)) {
    return value.map((item) => measure(item, name, depth + 1)).filter((item) => item !== undefined);
  }
  const shown: [string, Json][] = [];
  for (const [inner, part] of Object.entries(value)) {
    const kept = measure(part, inner, depth + 1);
    if (kept !== undefined) shown.push([inner, kept]);
  }
  return Object.fromEntries(shown);
};

/**
 * Figures of a shape that nobody knows beforehand: numbers, booleans and null under any name, texts only where they name
 * what is measured, or when. `name` is what a list at the top goes by.
 */
export const measures =
  (name = ''): Reading =>
  (data) => {
    const value = data ?? null;
    if (value !== null && !Array.isArray(value) && !isRecord(value)) {
      throw new Problem({ kind: 'upstream-contract', why: 'not-the-shape' });
    }
    return measure(value, name, 1) ?? null;
  };
