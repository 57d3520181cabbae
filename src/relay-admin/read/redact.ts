import { isRecord } from '../../core/json.ts';
import { isSecretName, REDACTED, withoutSecrets } from '../../core/redact.ts';
import { visibleLine } from '../../core/text.ts';
import { type Json, MAX_DEPTH, TOO_DEEP } from './project.ts';

/** `isCut`: there was more than any result can hold, and the rest was not looked at. */
export type RedactedData = { readonly data: Json; readonly isCut: boolean };

/** A result of 24 KB cannot hold as many. */
const MAX_VALUES = 20_000;
const TEXT_LIMIT = 400;
/** As much of a text as is searched for secrets, and more than of it is ever shown. */
const SEARCHED_CHARS = 4000;
const JSON_TEXT_LIMIT = 16_000;
/** To search so much text costs as much as one more value, so that 4 MB of long texts take no longer than of short ones. */
const CHARS_PER_VALUE = 40;

const NAME = /^[\w.:/@*-]{1,80}$/;
const BAD_NAMES = new Set(['__proto__', 'constructor', 'prototype']);
/** A name that can be shown: of a field, a model, an id. A secret that serves as a name is none. */
const isShownName = (name: string): boolean =>
  NAME.test(name) && !BAD_NAMES.has(name) && (name.length < 10 || withoutSecrets(name) === name);

/** What a text holds when it is itself JSON with something inside. */
const parseNestedJson = (text: string): unknown => {
  if (text.length > JSON_TEXT_LIMIT || !/^\s*[[{"]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Data that can be shown: secrets replaced by what their name or their look gives away, also within JSON in a text; every
 * text cleaned. Counts and switches stay whatever their name, since `total_tokens` is no token.
 */
export const redactData = (whole: Json): RedactedData => {
  let left = MAX_VALUES;
  let isCut = false;

  const takes = (): boolean => {
    if (left <= 0) isCut = true;
    else left -= 1;
    return !isCut;
  };
  const shownText = (text: string, depth: number): string => {
    left -= Math.min(text.length, JSON_TEXT_LIMIT) / CHARS_PER_VALUE;
    const inner = parseNestedJson(text);
    const bare = inner === undefined ? text.slice(0, SEARCHED_CHARS) : JSON.stringify(shown(inner, depth + 1));
    return visibleLine(inner === undefined ? withoutSecrets(bare) : bare, TEXT_LIMIT);
  };
  const shown = (value: unknown, depth: number): Json => {
    if (typeof value === 'string') return depth > MAX_DEPTH ? TOO_DEEP : shownText(value, depth);
    if (typeof value === 'number' || typeof value === 'boolean') return value;
    if (typeof value !== 'object' || value === null) return null;
    if (depth > MAX_DEPTH) return TOO_DEEP;
    return Array.isArray(value) ? shownItems(value, depth) : isRecord(value) ? shownFields(value, depth) : null;
  };
  const shownItems = (items: readonly unknown[], depth: number): Json => {
    const kept: Json[] = [];
    for (const item of items) {
      if (!takes()) break;
      kept.push(shown(item, depth + 1));
    }
    return kept;
  };
  const shownFields = (record: Readonly<Record<string, unknown>>, depth: number): Json => {
    const kept: [string, Json][] = [];
    for (const [name, value] of Object.entries(record)) {
      if (!takes()) break;
      if (isShownName(name)) kept.push([name, shownField(name, value, depth)]);
    }
    return Object.fromEntries(kept);
  };
  const shownField = (name: string, value: unknown, depth: number): Json => {
    const isHarmless = value === null || typeof value === 'number' || typeof value === 'boolean';
    return isHarmless || !isSecretName(name) ? shown(value, depth + 1) : REDACTED;
  };

  return { data: shown(whole, 1), isCut };
};
