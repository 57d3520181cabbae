import { REDACTED, withoutSecrets } from './config/secret-look.ts';
import { visibleText } from './visible-text.ts';

const LIMIT_CHARS = 200;
/** Shorter ones are numbers and switches. */
const SECRET_CHARS = 6;

/** What Node adds to the words of an error: where it was thrown, and by which Node. */
const ADDED = /^(?:at .+|\^+|Node\.js v[\d.]+)$/;

const without = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= SECRET_CHARS)
    .toSorted((left, right) => right.length - left.length)
    .reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);

/** The last lines that fit, as one. */
const lastLines = (lines: readonly string[]): string =>
  lines.reduceRight((end, line) => (`${line} ${end}`.length <= LIMIT_CHARS ? `${line} ${end}`.trim() : end), '');

/**
 * What a program wrote before it failed, as one short line for the log. `secrets` are texts that it was given: what is
 * found of them, or looks like another, is replaced.
 */
export const lastWordsIn = (written: string, secrets: readonly string[]): string => {
  const lines = withoutSecrets(without(written, secrets))
    .split('\n')
    .map((line) => visibleText(line, LIMIT_CHARS).replaceAll('\t', ' '))
    .filter((line) => line !== '' && !ADDED.test(line));
  return lastLines(lines);
};
