import { editDistance, nearestName } from './config.ts';
import { withoutSecrets } from './redact.ts';

const LIMIT_CHARS = 128;
/** A longer name would leave no space for the rest of an error. */
const SHOWN_CHARS = 60;
const IDENTIFIER = /^[A-Za-z0-9._:/-]+$/;
/** A word, a number or a short mixture, as in `llama-3.3:70b`. A key is hardly ever made of these alone. */
const PLAIN_PART = /^(?:[a-z0-9]{0,4}|[a-z]{1,20}\d{0,4}|\d{1,8}[a-z]{0,4})$/i;

const isPlainName = (text: string): boolean =>
  /^[a-z]/i.test(text) && text.split(/[._:/-]/).every((part) => PLAIN_PART.test(part)) && withoutSecrets(text) === text;

/**
 * The text if it has the form of an identifier and does not look like a secret. Enough for a name that a model or a service
 * sent; what a caller sent may be anything, and is quoted by `notConfiguredText` alone.
 */
export const shownIdentifier = (text: string): string | undefined =>
  text.length <= LIMIT_CHARS && IDENTIFIER.test(text) && withoutSecrets(text) === text ? text : undefined;

/** As many changes as a slip of typing makes in a name of this length. */
const slipLimit = (name: string): number => Math.min(3, Math.ceil(name.length / 3));

/** The known name that is meant by a slip of typing, in whatever case, or by its beginning. */
const findMeant = (name: string, known: readonly string[]): string | undefined => {
  const lowered = known.map((candidate) => candidate.toLowerCase());
  const nearest = nearestName(name.toLowerCase(), lowered);
  if (nearest === undefined) return undefined;
  const isMeant =
    nearest.startsWith(name.toLowerCase()) || editDistance(name.toLowerCase(), nearest) <= slipLimit(nearest);
  return isMeant ? known[lowered.indexOf(nearest)] : undefined;
};

/** For a name such as `fake/ghost` the nearest one of the same provider, if there is any. */
const findSibling = (name: string, known: readonly string[]): string | undefined => {
  const provider = name.slice(0, name.indexOf('/') + 1);
  const siblings = provider === '' ? [] : known.filter((candidate) => candidate.startsWith(provider));
  return siblings.length > 0 && isPlainName(name.slice(provider.length)) ? nearestName(name, siblings) : undefined;
};

/**
 * The known name that comes nearest to one that a caller sent; undefined where none is near. Only a near name may be quoted
 * in an error: any other text may be what a user wrote, or a key in the wrong field. A name is near if a slip of typing makes
 * it of a known one, or if it has the provider of a known one. A text that contains one of `secrets` is near to nothing.
 */
export const nearName = (
  name: string,
  known: readonly string[],
  secrets: readonly string[] = [],
): string | undefined => {
  if (name.length > LIMIT_CHARS || !IDENTIFIER.test(name)) return undefined;
  if (secrets.some((secret) => secret !== '' && name.includes(secret))) return undefined;
  return findMeant(name, known) ?? findSibling(name, known);
};

/**
 * The text of an error about a name that a caller sent and the configuration does not have:
 * `model "fake/ghost" is not configured; the nearest is "fake/main"`. A name that is not near to a known one is not quoted.
 */
export const notConfiguredText = (
  kind: string,
  name: string,
  known: readonly string[],
  secrets: readonly string[] = [],
): string => {
  const nearest = nearName(name, known, secrets);
  if (nearest === undefined) return `this ${kind} is not configured`;
  const shown = name.length > SHOWN_CHARS ? `${name.slice(0, SHOWN_CHARS)}...` : name;
  return `${kind} "${shown}" is not configured; the nearest is "${nearest}"`;
};

/**
 * The text of an error about something stored that is not there: `session "ses_..." was not found`. `id` is undefined where
 * what was sent has not the form of our ids: then it may be anything, and is not quoted.
 */
export const notFoundText = (kind: string, id: string | undefined): string =>
  id === undefined ? `this ${kind} was not found` : `${kind} "${id}" was not found`;
