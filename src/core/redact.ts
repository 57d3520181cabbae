/** Stands where a secret stood. */
export const REDACTED = '[redacted]';

/** What secrets look like wherever they stand. Repetitions are bounded, so that no text takes long. */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g,
  // The relay's own admin key, also with its middle masked.
  /(?<![A-Za-z0-9])admin-[0-9a-f]{4}(?:[0-9a-f]{2}|[.*…•]{2})[\w.*…•-]*/gi,
  /(?<![A-Za-z0-9])sk[-_][\w.*…•-]{6,}/g,
  /(?<![A-Za-z0-9])(?:pk|rk|gsk|xai|hf|gh[opsur]|github_pat|glpat|xox[a-z]|r8|pplx|whsec|sess|rt)[-_][A-Za-z0-9_-]{16,}/g,
  /eyJ[\w-]{8,}(?:\.[\w-]*){0,4}/g,
  /GOCSPX-[\w-]{4,}|AIza[\w-]{10,}|ya29\.[\w.-]{10,}|(?<!\w)1\/\/0[\w-]{10,}/g,
  /(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}/g,
  /\bbearer\s{1,9}[^\s"',;]{8,}/gi,
  // A header is secret to the end of its line.
  /\b(?:proxy-)?authorization\b["'\\]*\s{0,9}[:=][^\n\r]*/gi,
  /\b(?:set-)?cookie\b["'\\]*\s{0,9}[:=][^\n\r]*/gi,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
];

const USER_INFO = /([a-z][a-z0-9+.-]{0,15}:\/\/)[^\s/?#"']{1,400}@/gi;
const PARAMETER = /([?&](?:key|code|sig|signature|auth)=)[^\s&#"']+/gi;
const PAIR =
  /((?:passwor[dt]|passwd|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|session[-_]?key|credential)[\w-]{0,20}\\*["']?\s{0,9}[:=]\s{0,9})(?!\[redacted\])(\\*"[^"]*"?|\\*'[^']*'?|[^\s,;&}\]]+)/gi;
const RUN = /[A-Za-z0-9+/_=-]{32,}/g;
const MARKER = /^rc_[0-9a-f]{8,64}$/;

const classOf = (char: string): string => {
  if (/[0-9]/.test(char)) return '0';
  if (/[a-z]/.test(char)) return 'a';
  return /[A-Z]/.test(char) ? 'A' : '-';
};

/** How often letters and digits take turns. Words and names do so seldom, however long, and what was drawn by lot often. */
const restlessness = (run: string): number => {
  let turns = 0;
  let pairs = 0;
  let last = '-';
  for (const char of run) {
    const now = classOf(char);
    if (last !== '-' && now !== '-') {
      pairs += 1;
      if (last !== now && !(last === 'A' && now === 'a')) turns += 1;
    }
    last = now;
  }
  return pairs === 0 ? 0 : turns / pairs;
};

const isBlob = (run: string): boolean =>
  !MARKER.test(run) &&
  (run.split(/[-_+/=]/).some((part) => part.length >= 24 && /\d|[a-z][A-Z]/.test(part)) || restlessness(run) > 0.2);

const scrubbed = (text: string): string =>
  FORMS.reduce((rest, form) => rest.replace(form, REDACTED), text)
    .replace(USER_INFO, `$1${REDACTED}@`)
    .replace(PARAMETER, `$1${REDACTED}`)
    .replace(PAIR, (whole, name: string, value: string) =>
      // A count of tokens is no token.
      /token/i.test(name) && /^\d{1,9}$/.test(value) ? whole : `${name}${REDACTED}`,
    )
    .replace(RUN, (run) => (isBlob(run) ? REDACTED : run));

/** Characters that nobody sees and that a secret could be cut in two with. */
const HIDDEN =
  /[\u034f\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}\p{Cf}\p{Cn}\u115f\u1160\u17b4\u17b5\u3164\uffa0]+/gu;
/** The shortest text with a secret in it: `pwd=x`. */
const SHORTEST = 5;

/** The text with whatever looks like a secret replaced, also when unseen characters stand in between. */
export const withoutSecrets = (text: string): string => {
  if (text.length < SHORTEST) return text;
  const bare = text.replace(HIDDEN, '');
  const inBare = scrubbed(bare);
  return inBare === bare && bare !== text ? scrubbed(text) : inBare;
};
