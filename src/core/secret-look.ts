/** Stands where a secret stood. */
export const REDACTED = '[redacted]';

const SECRET_NAMES = new Set(['auth', 'pat', 'sig', 'signature', 'bearer', 'jwt']);
const SECRET_PARTS = /passw(?:or)?d|passphrase|secret|token|apikey|authorization|credential|cookie/;
const SECRET_ENDS = /(?:keys?|pass|pwd|connectionstring|dsn)$/;
/** `max_tokens` is a number of tokens, and no token. */
const COUNT_NAMES = /tokens$/;

/** Whether what stands under a name is secret, however the name is written: `api_key`, `API-Key`, `apiKey`. */
export const isSecretName = (name: string): boolean => {
  const bare = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return SECRET_NAMES.has(bare) || SECRET_ENDS.test(bare) || (SECRET_PARTS.test(bare) && !COUNT_NAMES.test(bare));
};

/** What somebody drew by lot: a name that people give has no such mixture of letters and digits. */
const isDrawn = (segment: string): boolean => {
  const isMixed = segment.length >= 10 && /\d/.test(segment) && /[a-z]/.test(segment) && /[A-Z]/.test(segment);
  const isLong = /^(?=.*\d)(?=.*[a-z])[a-z0-9]{20,}$/i.test(segment);
  return isMixed || isLong || /^[0-9a-f]{8}-[0-9a-f-]{20,40}$/i.test(segment);
};
/** Some addresses are their own key, which then is a step of the path. */
const withoutDrawnSteps = (address: string): string =>
  address
    .split('/')
    .map((step, at) => (at > 2 && isDrawn(step) ? REDACTED : step))
    .join('/');

type Form = readonly [form: RegExp, shown: string | ((found: string) => string)];

/** What secrets look like in the middle of a text. Every repetition that another may follow is bounded. */
const FORMS: readonly Form[] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, REDACTED],
  [/([a-z][a-z0-9+.-]{0,15}:\/\/)[^\s/?#"'@]{1,400}@/gi, `$1${REDACTED}@`],
  [/((?:authorization|cookie)["']?\s{0,9}[:=])[^\n\r]*/gi, `$1${REDACTED}`],
  // Words have no digits: "basic questions" are none, and "bearer tokens" neither.
  [/\b((?:bearer|basic)\s{1,9})(?=\S{0,200}[\d=])[^\s"',;]{6,}/gi, `$1${REDACTED}`],
  [
    /((?:passw(?:or)?d|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential)[\w-]{0,40}["']?\s{0,9}[:=]\s{0,9})(?!\[redacted\])("[^"]*"?|'[^']*'?|[^\s,;&"']+)/gi,
    `$1${REDACTED}`,
  ],
  // Arguments and variables of programs, and the queries of addresses.
  [
    /((?:key|pass|pwd|pat|auth|sig|signature|connectionstring|[?&](?:code|k))["']?=)(?!\[redacted\])("[^"]*"?|'[^']*'?|[^\s,;&#"']+)/gi,
    `$1${REDACTED}`,
  ],
  [/((?:^|\s)(?:-u|--user)[\s=]["']?[^\s:"']{1,100}:)[^\s"']+/g, `$1${REDACTED}`],
  [/\bhttps?:\/\/[^\s"'<>?#]{1,2000}/gi, withoutDrawnSteps],
  [
    /(?<![A-Za-z0-9])(?:sk|pk|rk|gsk|xai|hf|gh[opsur]|github_pat|glpat|xox[a-z]|admin|whsec|pplx)[-_][\w.-]{12,}/g,
    REDACTED,
  ],
  [/eyJ[\w-]{8,}(?:\.[\w-]*){0,4}/g, REDACTED],
  [/AIza[\w-]{10,}|ya29\.[\w.-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{12,}/g, REDACTED],
];

/** A text with whatever looks like a secret replaced. */
export const withoutSecrets = (text: string): string =>
  FORMS.reduce(
    (rest, [form, shown]) => (typeof shown === 'string' ? rest.replace(form, shown) : rest.replace(form, shown)),
    text,
  );
