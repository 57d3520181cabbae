/** Stands where a secret stood. */
export const REDACTED = '[redacted]';

const SECRET_NAMES = new Set(
  `auth pat sig signature bearer jwt code codes session sso ssorw credentials headeroverrides extraheaders bodyoverride
  keyhash payurl qrcode downloadurl inputexcerpt errorbody upstreamerrordetail upstreamerrors requestbody`.split(/\s+/),
);
const SECRET_PARTS =
  /passw(?:or)?d|passphrase|secret|token|apikey|accesskey|privatekey|sessionkey|otp|serviceaccount|authorization|credential|cookie|oauthcode/;
const SECRET_ENDS = /(?:keys?|pass|pwd|connectionstring|dsn)$/;

/** Whether what stands under a name is secret, however the name is written: `api_key`, `API-Key`, `apiKey`. */
export const isSecretName = (name: string): boolean => {
  const bare = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return SECRET_NAMES.has(bare) || SECRET_ENDS.test(bare) || SECRET_PARTS.test(bare);
};

/** A random segment: a name that people give has no such mixture of letters and digits. */
const isRandomSegment = (segment: string): boolean => {
  const isMixed = segment.length >= 10 && /\d/.test(segment) && /[a-z]/.test(segment) && /[A-Z]/.test(segment);
  const isLong = /^(?=.*\d)(?=.*[a-z])[a-z0-9]{20,}$/i.test(segment);
  return isMixed || isLong || /^[0-9a-f]{8}-[0-9a-f-]{20,40}$/i.test(segment);
};
/** Some addresses are their own key, which then is a segment of the path. */
const withoutRandomSegments = (address: string): string =>
  address
    .split('/')
    .map((segment, at) => (at > 2 && isRandomSegment(segment) ? REDACTED : segment))
    .join('/');

type Form = readonly [form: RegExp, shown: string | ((...found: readonly string[]) => string)];

/** What secrets look like in the middle of a text. Every repetition that another may follow is bounded, so no text takes long. */
const FORMS: readonly Form[] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, REDACTED],
  [/([a-z][a-z0-9+.-]{0,15}:\/\/)[^\s/?#"']{1,400}@/gi, `$1${REDACTED}@`],
  // A header is secret to the end of its line.
  [/((?:authorization|cookie)["'\\]{0,66}\s{0,9}[:=])[^\n\r]*/gi, `$1${REDACTED}`],
  // Short words without a digit are words: "basic questions", "bearer tokens".
  [/\b(bearer\s{1,9})[^\s"',;]{8,}/gi, `$1${REDACTED}`],
  [/\b((?:bearer|basic)\s{1,9})(?=\S{0,200}[\d=])[^\s"',;]{6,}/gi, `$1${REDACTED}`],
  // JSON in JSON has up to 2^n backslashes before a quote. Brackets are of the value unless they end the JSON around it.
  [
    /((?:passwor[dt]|passwd|pwd|passphrase|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|session[-_]?key|credential)[\w-]{0,40}\\{0,64}["']?\s{0,9}[:=]\s{0,9})(?!\[redacted\])(\\{0,64}"[^"]*"?|\\{0,64}'[^']*'?|(?:[^\s,;&}\]]|[}\]](?![}\]]{0,9}(?:[\s,;&]|\\{0,64}["']|$)))+)/gi,
    (whole, name = '', value = '') =>
      // A count of tokens is no token.
      /tokens/i.test(name) && /^\d{1,9}$/.test(value) ? whole : `${name}${REDACTED}`,
  ],
  // Arguments and variables of programs, and the queries of addresses.
  [
    /((?:key|pass|pwd|pat|auth|sig|signature|connectionstring|[?&](?:code|k))["']?=)(?!\[redacted\])("[^"]*"?|'[^']*'?|[^\s,;&#"']+)/gi,
    `$1${REDACTED}`,
  ],
  [/((?:^|\s)(?:-u|--user)[\s=]["']?[^\s:"']{1,100}:)[^\s"']+/g, `$1${REDACTED}`],
  [/\bhttps?:\/\/[^\s"'<>?#]{1,2000}/gi, withoutRandomSegments],
  // The relay's own admin key, also with its middle masked.
  [/(?<![A-Za-z0-9])admin-[0-9a-f]{4}(?:[0-9a-f]{2}|[.*…•]{2})[\w.*…•-]*/gi, REDACTED],
  // Several words in lower case are a name: `relay-admin_list_users`.
  [/(?<![A-Za-z0-9])admin[-_](?:(?=[\w.-]{0,60}[\dA-Z])[\w.-]{12,}|[-_.]{0,9}[a-z]{12,})/g, REDACTED],
  [/(?<![A-Za-z0-9])sk[-_][\w.*…•-]{6,}/g, REDACTED],
  [/(?<![A-Za-z0-9])(?:pk|rk|gsk|xai|hf|gh[opsur]|github_pat|glpat|xox[a-z]|whsec|pplx)[-_][\w.-]{12,}/g, REDACTED],
  [/(?<![A-Za-z0-9])(?:r8|sess|rt)[-_][A-Za-z0-9_-]{16,}/g, REDACTED],
  [/eyJ[\w-]{8,}(?:\.[\w-]*){0,4}/g, REDACTED],
  [/GOCSPX-[\w-]{4,}|AIza[\w-]{10,}|ya29\.[\w.-]{10,}|(?<!\w)1\/\/0[\w-]{10,}/g, REDACTED],
  [/(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}/g, REDACTED],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, REDACTED],
];

const RUN = /[A-Za-z0-9+/_=-]{32,}/g;
/** References of recharges are shown. */
const RECHARGE_REFERENCE = /^rc_[0-9a-f]{8,64}$/;

const classOf = (char: string): string => {
  if (/[0-9]/.test(char)) return '0';
  if (/[a-z]/.test(char)) return 'a';
  return /[A-Z]/.test(char) ? 'A' : '-';
};

/** How often letters and digits alternate, 0 to 1. Words and names do so seldom, however long, and random texts often. */
const alternation = (run: string): number => {
  let changes = 0;
  let pairs = 0;
  let last = '-';
  for (const char of run) {
    const now = classOf(char);
    if (last !== '-' && now !== '-') {
      pairs += 1;
      if (last !== now && !(last === 'A' && now === 'a')) changes += 1;
    }
    last = now;
  }
  return pairs === 0 ? 0 : changes / pairs;
};

const isBlob = (run: string): boolean =>
  !RECHARGE_REFERENCE.test(run) &&
  (run.split(/[-_+/=]/).some((part) => part.length >= 24 && /\d|[a-z][A-Z]/.test(part)) || alternation(run) > 0.2);

const redactForms = (text: string): string =>
  FORMS.reduce(
    (rest, [form, shown]) => (typeof shown === 'string' ? rest.replace(form, shown) : rest.replace(form, shown)),
    text,
  ).replace(RUN, (run) => (isBlob(run) ? REDACTED : run));

/** Characters that are not seen and that a secret could be cut in two with. */
const HIDDEN =
  /[\u034f\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}\p{Cf}\p{Cn}\u115f\u1160\u17b4\u17b5\u3164\uffa0]+/gu;
/** The shortest text with a secret in it: `pwd=x`. */
const SHORTEST = 5;

/** The text with whatever looks like a secret replaced, also when unseen characters stand in between. */
export const withoutSecrets = (text: string): string => {
  if (text.length < SHORTEST) return text;
  const bare = text.replace(HIDDEN, '');
  const inBare = redactForms(bare);
  return inBare === bare && bare !== text ? redactForms(text) : inBare;
};
