import { nearestName } from './config.ts';
import { withoutSecrets } from './redact.ts';

const LIMIT_CHARS = 128;
const IDENTIFIER = /^[A-Za-z0-9._:/-]+$/;

/**
 * The text if it has the form of an identifier, 1 to 128 characters of `A-Za-z0-9._:/-`, and does not look like a secret.
 * Only such a text of a caller's may be quoted in an error; anything else may be what a user wrote, or a key in the wrong field.
 */
export const shownIdentifier = (text: string): string | undefined =>
  text.length <= LIMIT_CHARS && IDENTIFIER.test(text) && withoutSecrets(text) === text ? text : undefined;

/**
 * The text of an error about a name that a caller sent and the configuration does not have:
 * `model "fake/ghost" is not configured; the nearest is "fake/main"`. A name that is no identifier is not quoted.
 */
export const notConfiguredText = (kind: string, name: string, known: readonly string[]): string => {
  const shown = shownIdentifier(name);
  const nearest = nearestName(name.slice(0, LIMIT_CHARS), known);
  return [
    shown === undefined ? `this ${kind} is not configured` : `${kind} "${shown}" is not configured`,
    ...(nearest === undefined ? [] : [`the nearest is "${nearest}"`]),
  ].join('; ');
};

/** The text of an error about something stored that is not there: `session "ses_1" was not found`. */
export const notFoundText = (kind: string, id: string): string => {
  const shown = shownIdentifier(id);
  return shown === undefined ? `this ${kind} was not found` : `${kind} "${shown}" was not found`;
};
