import { SessionDocumentError } from '../../agent/session/document.ts';
import type { RetentionLimits } from '../../agent/session/retention.ts';
import { nearestText } from '../program/arguments.ts';

/** A task of the `gatehouse agent` command. */
export type AgentTask =
  | { readonly kind: 'export'; readonly sessionID: string }
  | { readonly kind: 'import'; readonly file: string; readonly hasNewIDs: boolean }
  | { readonly kind: 'sessions'; readonly limit: number; readonly isJson: boolean }
  | { readonly kind: 'prune'; readonly limits: RetentionLimits; readonly isDryRun: boolean };

type CommandArguments = {
  readonly plain: readonly string[];
  /** Flags with their values; '' for a switch. */
  readonly flags: ReadonlyMap<string, string>;
};

const DEFAULT_LIMIT = 50;
const COUNT = /^[1-9]\d{0,8}$/;
const AGE = /^([1-9]\d{0,4})([mhdw])$/;
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const USAGE: Readonly<Record<AgentTask['kind'], string>> = {
  sessions: 'sessions [--limit N] [--json]',
  export: 'export <session>',
  import: 'import <file | -> [--new-ids]',
  prune: 'prune --older-than 30d | --keep 1000 [--dry-run]',
};
const argumentError = (message: string): SessionDocumentError =>
  new SessionDocumentError([`${message}; see gatehouse agent --help`]);

/** Splits arguments. A flag with a value takes the next argument, or the text after its `=`. Errors quote no argument. */
const parseArguments = (args: readonly string[], withValue: readonly string[]): CommandArguments | undefined => {
  const plain: string[] = [];
  const flags = new Map<string, string>();
  const left = args.values();
  for (const arg of left) {
    if (!arg.startsWith('--')) {
      plain.push(arg);
      continue;
    }
    const [name = '', ...rest] = arg.split('=');
    const takesValue = withValue.includes(name);
    const value = rest.length > 0 ? rest.join('=') : takesValue ? left.next().value : '';
    if (flags.has(name) || value === undefined || (value === '') === takesValue) return undefined;
    flags.set(name, value);
  }
  return { plain, flags };
};

const readCount = (flags: CommandArguments['flags'], name: string): number | undefined => {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  if (!COUNT.test(text)) throw argumentError(`${name}: expected a whole number from 1`);
  return Number(text);
};
const readAge = (flags: CommandArguments['flags'], name: string): number | undefined => {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  const [, count, unit = ''] = AGE.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs === undefined) throw argumentError(`${name}: expected a number and m, h, d or w, such as 30d`);
  return Number(count) * unitMs;
};

const parsePrune = ({ plain, flags }: CommandArguments): AgentTask | undefined => {
  const known = ['--older-than', '--keep', '--dry-run'];
  if (plain.length > 0 || [...flags.keys()].some((name) => !known.includes(name))) return undefined;
  const [ageMs, count] = [readAge(flags, '--older-than'), readCount(flags, '--keep')];
  if (ageMs === undefined && count === undefined)
    throw argumentError('expected --older-than with an age such as 30d, --keep with a number of sessions, or both');
  return { kind: 'prune', limits: { ageMs, count }, isDryRun: flags.has('--dry-run') };
};
const parseSessions = ({ plain, flags }: CommandArguments): AgentTask | undefined => {
  const known = ['--limit', '--json'];
  if (plain.length > 0 || [...flags.keys()].some((name) => !known.includes(name))) return undefined;
  return { kind: 'sessions', limit: readCount(flags, '--limit') ?? DEFAULT_LIMIT, isJson: flags.has('--json') };
};
const parseExportOrImport = (kind: 'export' | 'import', { plain, flags }: CommandArguments): AgentTask | undefined => {
  const [given, ...more] = plain;
  const known = kind === 'import' ? ['--new-ids'] : [];
  if (given === undefined || more.length > 0 || [...flags.keys()].some((name) => !known.includes(name)))
    return undefined;
  if (kind === 'export') return { kind, sessionID: given };
  return { kind, file: given, hasNewIDs: flags.has('--new-ids') };
};

/** Parses the arguments of `gatehouse agent`. Throws `SessionDocumentError` with what was expected; it never quotes an argument. */
export const parseTask = ([verb, ...args]: readonly string[]): AgentTask => {
  const all = parseArguments(args, ['--limit', '--older-than', '--keep']);
  const taskOf = (): AgentTask | undefined => {
    if (all === undefined) return undefined;
    if (verb === 'sessions') return parseSessions(all);
    if (verb === 'prune') return parsePrune(all);
    return verb === 'export' || verb === 'import' ? parseExportOrImport(verb, all) : undefined;
  };
  const task = taskOf();
  if (task !== undefined) return task;
  const [known] = Object.entries(USAGE).filter(([name]) => name === verb);
  const names = Object.keys(USAGE);
  throw argumentError(`expected ${known?.[1] ?? `one of ${names.join(', ')}${nearestText(verb ?? '', names)}`}`);
};
