import * as v from 'valibot';
import { CommaList, OneOf } from '../core/config.ts';
import type { DeparturePolicy } from './turn/disconnect.ts';

const KEY_RULE = 'expected keys of 1 to 512 printable characters without blanks, separated by commas';
/** API keys that clients may come with. */
export const Keys = v.pipe(
  CommaList,
  v.check((keys) => keys.every((key) => /^[\x21-\x7e]{1,512}$/.test(key)), KEY_RULE),
);
const URLS_RULE =
  'expected addresses such as http://127.0.0.1:4000, without user, query or fragment, separated by commas';

const isBaseUrl = (text: string): boolean => {
  if (!URL.canParse(text) || /[?#]/.test(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
};

/** Addresses that paths are put behind, one at least, each once and without a trailing slash. */
export const BaseUrls = v.pipe(
  CommaList,
  v.check((urls) => urls.length > 0 && urls.every(isBaseUrl), URLS_RULE),
  v.transform((urls) => [...new Set(urls.map((url) => url.replace(/\/+$/, '')))]),
);

/** A user's name or password. */
export const Credential = v.pipe(
  v.string(),
  v.trim(),
  v.check((text) => !/\p{Cc}/u.test(text), 'expected text without control characters'),
);

/** A user's name as Basic authentication has it. */
export const UserName = v.pipe(
  Credential,
  v.check((name) => !name.includes(':'), 'expected a name without a colon'),
);

const ORIGIN_RULE = 'expected * or origins such as https://chat.example.org, without a path, separated by commas';
/** Written as browsers write it, for another spelling would let nobody in. Programs with pages in them have schemes of their own. */
const isOrigin = (text: string): boolean => {
  if (/^https?:/i.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return text === '*' || text === 'null' || /^[a-z][a-z0-9+.-]*:\/\/[^\s/]+$/.test(text);
};
/** Origins of web pages. */
export const Origins = v.pipe(
  CommaList,
  v.check((origins) => origins.every(isOrigin), ORIGIN_RULE),
);

/** `provider/key`; the key may hold slashes itself. */
export const ModelName = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^[^/\s]+\/\S+$/, 'expected a model as <provider>/<model key>'),
);
/** What a leaving client means. */
export const Departure = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^(?:abort|detach|\d{1,7})$/, 'expected abort, detach or a number of milliseconds to wait before aborting'),
  v.transform((text): DeparturePolicy => {
    if (text === 'abort' || text === 'detach') return { kind: text };
    return { kind: 'grace', ms: Number(text) };
  }),
);
/** On or off. */
export const Switch = OneOf(['true', 'false']);
