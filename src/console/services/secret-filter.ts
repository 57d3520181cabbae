import { REDACTED } from '../../core/redact.ts';

/** Takes the console's own secrets out of a text that goes to a browser, whatever service put them there. */
export type SecretFilter = (text: string) => string;

/** A shorter one is in too many words. */
const SHORTEST_CHARS = 6;

/** Each secret as it stands in a text, and as JSON has it. */
export const createSecretFilter = (secrets: readonly (string | undefined)[]): SecretFilter => {
  const known = secrets.filter((secret) => secret !== undefined && secret.length >= SHORTEST_CHARS);
  const forms = [...new Set(known.flatMap((secret) => [String(secret), JSON.stringify(secret).slice(1, -1)]))]
    // A secret may be part of another one.
    .sort((left, right) => right.length - left.length);
  return (text) => forms.reduce((rest, form) => (rest.includes(form) ? rest.replaceAll(form, REDACTED) : rest), text);
};
