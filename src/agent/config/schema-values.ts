import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';

/** A setting of other programs that is accepted with any value, and has no effect here. `why` is for the warning. */
export const unsupported = (why: string) => Object.assign(v.optional(v.unknown()), { unsupportedReason: why });

/** Why a setting has no effect, by its schema. Undefined for a supported setting. */
export const unsupportedReason = (schema: unknown): string | undefined =>
  isRecord(schema) && typeof schema.unsupportedReason === 'string' ? schema.unsupportedReason : undefined;

export const BooleanSetting = v.boolean('expected true or false');
export const TextSetting = v.string('expected a text');
/** A text for processes and file systems: a NUL would end it early. */
export const PlainText = v.pipe(
  TextSetting,
  v.check((text) => text !== '' && !text.includes('\0'), 'expected a text that is not empty'),
);
export const Anything = v.record(v.string(), v.unknown());

/** A number within limits, both included. */
export const NumberFrom = (least: number, most: number) => {
  const rule = `expected a number from ${least} to ${most}`;
  return v.pipe(v.number(rule), v.minValue(least, rule), v.maxValue(most, rule));
};

export const IntegerFrom = (least: number, most: number) => {
  const rule = `expected a whole number from ${least} to ${most}`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));
};

/** Milliseconds of something that ends within a day. */
export const Duration = IntegerFrom(1, 86_400_000);
/** As `Duration`, or no limit at all. */
export const DurationOrNone = v.lazy((value) => (value === false ? v.literal(false) : Duration));

export const OneOfSetting = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  v.picklist(values, `expected ${values.join(' | ')}`);

/** An id that the user chooses. Without a slash, which separates the provider from the model. */
export const IdSetting = v.pipe(
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

/** `provider/model`. Whether the model exists is checked later. */
export const ModelNameSetting = v.pipe(TextSetting, v.includes('/', 'expected <provider>/<model key>'));

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that `fetch` accepts: its error would quote an invalid value. */
export const Headers = v.record(
  v.pipe(
    v.string(),
    v.check((name) => HEADER_NAME.test(name), 'expected the name of a header'),
  ),
  v.pipe(
    TextSetting,
    v.check((value) => HEADER_VALUE.test(value), 'expected a header of one line, in Latin-1'),
  ),
);

const isPlainAddress = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
};

/** A URL for `fetch`, which refuses a user and a password in it. */
export const Address = v.pipe(
  TextSetting,
  v.check(isPlainAddress, 'expected an address such as http://host:port/path, without user and password'),
);

/** A URL to which paths are appended. */
export const BaseAddress = v.pipe(
  Address,
  v.check((text) => !/[?#]/.test(text), 'expected an address without ? and #'),
);
