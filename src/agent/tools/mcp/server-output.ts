import type { Clock } from '../../../core/clock.ts';
import { isRecord, parseJsonValue } from '../../../core/json.ts';
import type { Log, LogFields } from '../../../core/log.ts';
import { REDACTED, withoutSecrets } from '../../../core/redact.ts';
import { visibleLines } from '../../../core/text.ts';

const STDERR_LIMIT_CHARS = 200;
/** Shorter values of the environment are numbers and switches. */
const SECRET_MIN_CHARS = 6;

/** Lines that Node adds to the text of an error: the stack and its own version. */
const NODE_LINES = /^(?:at .+|\^+|Node\.js v[\d.]+)$/;

const redactSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= SECRET_MIN_CHARS)
    .toSorted((left, right) => right.length - left.length)
    .reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);

/** Joins the last lines that fit. */
const joinLastLines = (lines: readonly string[]): string =>
  lines.reduceRight((end, line) => (`${line} ${end}`.length <= STDERR_LIMIT_CHARS ? `${line} ${end}`.trim() : end), '');

/**
 * The end of a program's standard error as one short line for the log. Replaces `secrets`, which are values that the
 * program was given, and what looks like a secret.
 */
export const formatLastStderr = (written: string, secrets: readonly string[]): string => {
  const lines = withoutSecrets(redactSecrets(written, secrets))
    .split('\n')
    .map((line) => visibleLines(line, STDERR_LIMIT_CHARS).replaceAll('\t', ' '))
    .filter((line) => line !== '' && !NODE_LINES.test(line));
  return joinLastLines(lines);
};

/** Lines of one server and level that are logged within `WINDOW_MS`. */
const LINES_LIMIT = 60;
const WINDOW_MS = 60_000;
const PASSED_LEVELS = ['info', 'warn', 'error'] as const;
type PassedLevel = (typeof PASSED_LEVELS)[number];

/** The name of an event in a Gatehouse log. */
const EVENT = /^[a-z][a-z-]{0,39}$/;
/** A value without blanks: no text of a person fits in. */
const WORD = /^[\w.:-]{1,64}$/;
const WORDS = ['tool', 'outcome', 'reason', 'state', 'signal', 'version', 'address'] as const;
const AMOUNT = /^\d{1,12}(?:\.\d{1,8})?$/;
const REFERENCE = /^rc_[0-9a-f]{8,64}$/;

/** The known fields of a line, as far as each has the form that it has in our own log. */
const readFields = (line: Readonly<Record<string, unknown>>, secrets: readonly string[]): LogFields => {
  const textOf = (name: string, form: RegExp): Readonly<Record<string, string>> => {
    const value = line[name];
    return typeof value === 'string' && form.test(value) ? { [name]: value } : {};
  };
  const words = WORDS.map((name) => textOf(name, WORD)).filter((field) =>
    Object.values(field).every((word) => withoutSecrets(redactSecrets(word, secrets)) === word),
  );
  const { subject, durationMs } = line;
  return Object.assign(
    {
      ...(Number.isSafeInteger(subject) ? { subject: Number(subject) } : {}),
      ...(Number.isFinite(durationMs) ? { durationMs: Number(durationMs) } : {}),
      ...textOf('amount', AMOUNT),
      ...textOf('reference', REFERENCE),
    },
    ...words,
  );
};

type ProgramLogNeeds = {
  readonly log: Log;
  readonly clock: Pick<Clock, 'now'>;
  /** The server as the log names it. */
  readonly setting: string;
  /** Values that the program was given. */
  readonly secrets: readonly string[];
};

/**
 * Takes the lines that a program writes to its standard error, and logs those that are lines of a Gatehouse log, such as relay
 * admin's: a recharge with an unknown outcome is reported nowhere else. Everything else may hold anything and is dropped, and so are
 * unknown fields and values in another form than ours. At most `LINES_LIMIT` lines a minute of each level.
 */
export const createProgramLog = ({ log, clock, setting, secrets }: ProgramLogNeeds): ((line: string) => void) => {
  const windows = new Map<PassedLevel, { readonly startMs: number; count: number }>();
  const countLine = (level: PassedLevel): number => {
    const now = clock.now();
    const known = windows.get(level);
    const current = known !== undefined && now - known.startMs < WINDOW_MS ? known : { startMs: now, count: 0 };
    current.count += 1;
    windows.set(level, current);
    return current.count;
  };
  return (line) => {
    if (!line.startsWith('{"time":"')) return;
    const value = parseJsonValue(line);
    if (!isRecord(value) || typeof value.event !== 'string' || !EVENT.test(value.event)) return;
    const level = PASSED_LEVELS.find((one) => one === value.level);
    if (level === undefined) return;
    const count = countLine(level);
    if (count === LINES_LIMIT + 1) log('warn', 'mcp-server-log-cut', { setting, restMs: WINDOW_MS });
    if (count > LINES_LIMIT) return;
    log(level, 'mcp-server-log', { setting, reported: value.event, ...readFields(value, secrets) });
  };
};
