import { isNestedBeyond, isRecord } from '../../../core/json.ts';

/** Texts as they were sent, which alone count for a limit, and those that the gateway joins of them. */
export type Found = { readonly written: string[]; readonly joined: string[] };

/** Creates what is found, with these texts so far. */
export const foundTexts = (...written: string[]): Found => ({ written, joined: [] });

/** Adds the texts of a value to `found`, none of them empty; false where some of it is no text. A body may hold a million values. */
export type Read = (value: unknown, found: Found) => boolean;

/** What of an object a model reads, each with how its texts are found. */
export type Members = Readonly<Record<string, Read>>;

/** Whether a member says nothing: clients send many of them empty. */
export const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** The first member of an object that is not among these, which nobody would read, or that is no text; undefined where all are read. */
export const unreadMember = (
  value: Readonly<Record<string, unknown>>,
  members: Members,
  found: Found,
): string | undefined => {
  for (const name of Object.keys(value)) {
    const one = value[name];
    if (!isNothing(one) && !(Object.hasOwn(members, name) && members[name]?.(one, found))) return name;
  }
  return undefined;
};

/** Reads an object that holds these members alone. */
export const membersAlone =
  (members: Members): Read =>
  (value, found) =>
    isRecord(value) && unreadMember(value, members, found) === undefined;

/** No program sends more parts or calls in one message. */
const MAX_ITEMS = 1000;

/** Reads a list, each item of it. One that is too long is not read. */
export const eachItem =
  (read: Read): Read =>
  (value, found) =>
    Array.isArray(value) && value.length <= MAX_ITEMS && value.every((one) => read(one, found));

/** Reads a text. */
export const plainText: Read = (value, found) => {
  if (typeof value !== 'string') return false;
  if (value !== '') found.written.push(value);
  return true;
};

/** Reads nothing: a value of this type says nothing to a model. */
export const silent =
  (type: 'boolean' | 'number' | 'string'): Read =>
  (value) =>
    typeof value === type;

/** A value as JSON; undefined where it has too many levels to be written. */
export const jsonText = (value: unknown): string | undefined =>
  isNestedBeyond(value) ? undefined : JSON.stringify(value);

/** Reads a value of any form, as JSON if it is no text. */
export const anyText: Read = (value, found) => plainText(typeof value === 'string' ? value : jsonText(value), found);

/** Reads a word that programs write and some chat templates show to the model: nothing where it is one of theirs, else a text. */
export const wordText =
  (isUsual: (word: string) => boolean): Read =>
  (value, found) =>
    (typeof value === 'string' && isUsual(value)) || plainText(value, found);

const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MAX_SIGNED_CHARS = 65_536;
const shareOf = (chars: RegExp, text: string): number => (text.match(chars)?.length ?? 0) / text.length;

const decoder = new TextDecoder();

/** Whether bytes say nothing as a text. Of random ones six in ten are no character, or one of control. */
const isNoise = (base64: string): boolean => {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return shareOf(/[\ufffd\p{Cc}]/gu, decoder.decode(bytes)) > 0.4;
};

/** Whether a text is base64 of bytes that say nothing. It mixes capitals, small letters and digits with few signs, as no words do. */
const isSigned = (text: string): boolean =>
  text.length <= MAX_SIGNED_CHARS &&
  BASE64.test(text) &&
  shareOf(/[A-Z]/g, text) > 0.25 &&
  shareOf(/[a-z]/g, text) > 0.25 &&
  shareOf(/\d/g, text) > 0.05 &&
  shareOf(/[+/]/g, text) <= 0.1 &&
  isNoise(text);

/** Reads nothing of what a provider has signed or encrypted and wants back. Anything else in its place is a text. */
export const signedText = wordText(isSigned);

const ID = /^[\w.:|-]{1,128}$/;
/** LiteLLM appends what a provider has signed to the id of a call. */
const SIGNED_BEHIND = '__thought__';

/** Reads an id: as programs make them it says nothing, any other is a text. */
export const idText = wordText((id) => {
  const [word = '', ...behind] = id.split(SIGNED_BEHIND, 3);
  return ID.test(word) && behind.length < 2 && behind.every(isSigned);
});

/** Reads what tells a provider how long to keep a prompt. */
export const cacheControl = membersAlone({
  type: wordText((type) => type === 'ephemeral'),
  ttl: wordText((ttl) => /^\d{1,6}[smhd]$/.test(ttl)),
});
