import { REDACTED } from '../../core/redact.ts';

/** Takes the console's own secrets out of a text that goes to a browser, whatever service put them there. */
export type SecretFilter = {
  (text: string): string;
  /** How many characters at the end of a text may be the beginning of a secret. */
  readonly openChars: (text: string) => number;
};

/** A shorter one is in too many words. */
const SHORTEST_CHARS = 6;

/** Each secret as it stands in a text, and as JSON has it. */
export const createSecretFilter = (secrets: readonly (string | undefined)[]): SecretFilter => {
  const known = secrets.filter((secret) => secret !== undefined && secret.length >= SHORTEST_CHARS);
  const forms = [...new Set(known.flatMap((secret) => [String(secret), JSON.stringify(secret).slice(1, -1)]))]
    // A secret may be part of another one.
    .sort((left, right) => right.length - left.length);
  const begins = (end: string): boolean => forms.some((form) => form.startsWith(end));
  const hide = (text: string): string =>
    forms.reduce((rest, form) => (rest.includes(form) ? rest.replaceAll(form, REDACTED) : rest), text);
  return Object.assign(hide, {
    openChars(text: string): number {
      let chars = Math.min(text.length, Math.max(0, (forms[0]?.length ?? 0) - 1));
      while (chars > 0 && !begins(text.slice(-chars))) chars -= 1;
      return chars;
    },
  });
};
