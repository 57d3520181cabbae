import { isRecord, parseJsonValue } from '../../core/json.ts';
import { isSecretName, REDACTED, withoutSecrets } from '../../core/redact.ts';
import { visibleLine } from '../../core/text.ts';
import { type Json, MAX_DEPTH, TOO_DEEP } from './project.ts';

/** `isCut`: there was more than any result can hold, and the rest was dropped unread. */
type RedactedData = { readonly data: Json; readonly isCut: boolean };

/** More values than a result of 24 KB can hold. */
const MAX_VALUES = 20_000;
const TEXT_LIMIT = 400;
/** How much of a text is searched for secrets: more than is ever shown of it. */
const SEARCHED_CHARS = 4000;
const JSON_TEXT_LIMIT = 16_000;
/** Searching this much text counts as one value, so that 4 MB of long texts take no longer than of short ones. */
const CHARS_PER_VALUE = 40;

const NAME = /^[\w.:/@*-]{1,80}$/;
const BAD_NAMES = new Set(['__proto__', 'constructor', 'prototype']);
/** Whether a name can be shown: of a field, a model, an id. A name that looks like a secret cannot. */
const isShownName = (name: string): boolean =>
  NAME.test(name) && !BAD_NAMES.has(name) && (name.length < 10 || withoutSecrets(name) === name);

/** The value of a text that is itself a JSON object or array; `undefined` for any other text. */
const parseNestedJson = (text: string): unknown =>
  text.length <= JSON_TEXT_LIMIT && /^\s*[[{"]/.test(text) ? parseJsonValue(text) : undefined;

const isFlag = (value: unknown): boolean => value === null || typeof value === 'boolean';

/** Whether a value is no secret under any name: a number or flag, or flags alone, such as `{"has_api_key": true}`. */
const isHarmless = (value: unknown): boolean =>
  isFlag(value) || typeof value === 'number' || (isRecord(value) && Object.values(value).every(isFlag));

/**
 * Data that can be shown: values are redacted when the field name or the value looks like a secret, also in JSON inside a
 * text, and every text is reduced to visible characters. Numbers, booleans and objects of booleans stay under any name:
 * `total_tokens` and `credentials_status` are no secrets.
 * `hideKey` replaces the relay's admin key, which may look like no secret, before a text is cut.
 */
export const redactData = (whole: Json, hideKey: (text: string) => string = (text) => text): RedactedData => {
  let left = MAX_VALUES;
  let isCut = false;

  const isBelowLimit = (): boolean => {
    if (left <= 0) isCut = true;
    else left -= 1;
    return !isCut;
  };
  const shownText = (given: string, depth: number): string => {
    const text = hideKey(given);
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
      if (!isBelowLimit()) break;
      kept.push(shown(item, depth + 1));
    }
    return kept;
  };
  const shownFields = (record: Readonly<Record<string, unknown>>, depth: number): Json => {
    const kept: [string, Json][] = [];
    for (const [name, value] of Object.entries(record)) {
      if (!isBelowLimit()) break;
      if (isShownName(name)) kept.push([name, shownField(name, value, depth)]);
    }
    return Object.fromEntries(kept);
  };
  const shownField = (name: string, value: unknown, depth: number): Json => {
    return isHarmless(value) || !isSecretName(name) ? shown(value, depth + 1) : REDACTED;
  };

  return { data: shown(whole, 1), isCut };
};
