import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';

/** A setting of other programs that is accepted, whatever stands there, and does nothing here. `why` says what is not done. */
export const inert = (why: string) => Object.assign(v.optional(v.unknown()), { inertBecause: why });

/** Why a setting does nothing, by its schema; nothing for the schema of one that does something. */
export const inertBecause = (schema: unknown): string | undefined =>
  isRecord(schema) && typeof schema.inertBecause === 'string' ? schema.inertBecause : undefined;

export const Switch = v.boolean('expected true or false');
export const Text = v.string('expected a text');
/** What a process or a file system takes: a NUL would end it early. */
export const PlainText = v.pipe(
  Text,
  v.check((text) => text !== '' && !text.includes('\0'), 'expected a text that is not empty'),
);
export const Anything = v.record(v.string(), v.unknown());

/** A number of JSON, which unlike JavaScript's has an end. */
export const NumberFrom = (least: number, most: number) => {
  const rule = `expected a number from ${least} to ${most}`;
  return v.pipe(v.number(rule), v.minValue(least, rule), v.maxValue(most, rule));
};

export const WholeFrom = (least: number, most: number) => {
  const rule = `expected a whole number from ${least} to ${most}`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));
};

/** Milliseconds of something that ends within a day. */
export const Duration = WholeFrom(1, 86_400_000);
/** As `Duration`, or no limit at all. */
export const DurationOrNone = v.lazy((value) => (value === false ? v.literal(false) : Duration));

export const OneOfWords = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  v.picklist(words, `expected ${words.join(' | ')}`);

/** An id that whoever writes the file makes up. A slash divides the provider from the model, so neither id may hold one. */
export const Id = v.pipe(
  v.string(),
  v.check(
    (text) => /^[^\s/\p{C}](?:[^/\p{C}]{0,62}[^\s/\p{C}])?$/u.test(text),
    'expected an id of 1 to 64 characters, without a slash',
  ),
);

/** A model's key may hold slashes, as those of hubs do. */
export const ModelKey = v.pipe(
  v.string(),
  v.check((text) => /^[^\s\p{C}]{1,200}$/u.test(text), 'expected a key of 1 to 200 characters, without blanks'),
);

/** `provider/model`. Whether there is such a model is asked later. */
export const ModelName = v.pipe(Text, v.includes('/', 'expected <provider>/<model key>'));

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What `fetch` takes: it would quote another value in its complaint. */
export const Headers = v.record(
  v.pipe(
    v.string(),
    v.check((name) => HEADER_NAME.test(name), 'expected the name of a header'),
  ),
  v.pipe(
    Text,
    v.check((value) => HEADER_VALUE.test(value), 'expected a header of one line, in Latin-1'),
  ),
);

const isPlainAddress = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
};

/** An address that can be fetched: `fetch` refuses one with a user in it. */
export const Address = v.pipe(
  Text,
  v.check(isPlainAddress, 'expected an address such as http://host:port/path, without user and password'),
);

/** An address that paths are put behind. */
export const BaseAddress = v.pipe(
  Address,
  v.check((text) => !/[?#]/.test(text), 'expected an address without ? and #'),
);
