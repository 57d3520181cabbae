import { SessionDocumentError } from '../../agent/session/document.ts';
import type { RetentionLimits } from '../../agent/session/retention.ts';

/** What somebody asked the agent's command to do. */
export type AgentTask =
  | { readonly kind: 'export'; readonly sessionID: string }
  | { readonly kind: 'import'; readonly file: string; readonly hasNewIDs: boolean }
  | { readonly kind: 'sessions'; readonly limit: number; readonly isJson: boolean }
  | { readonly kind: 'prune'; readonly limits: RetentionLimits; readonly isDryRun: boolean };

type Words = {
  readonly plain: readonly string[];
  /** Flags with their values; '' for a switch. */
  readonly flags: ReadonlyMap<string, string>;
};

const DEFAULT_LIMIT = 50;
const COUNT = /^[1-9]\d{0,8}$/;
const AGE = /^([1-9]\d{0,4})([mhdw])$/;
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const WAYS: Readonly<Record<AgentTask['kind'], string>> = {
  sessions: 'sessions [--limit N] [--json]',
  export: 'export <session>',
  import: 'import <file | -> [--new-ids]',
  prune: 'prune --older-than 30d | --keep 1000 [--dry-run]',
};
const problem = (complaint: string): SessionDocumentError =>
  new SessionDocumentError([`${complaint}; see gatehouse agent --help`]);

/** Sorts words. A flag that has a value takes the next word, or what stands after its `=`. Nothing of it is quoted. */
const sorted = (words: readonly string[], withValue: readonly string[]): Words | undefined => {
  const plain: string[] = [];
  const flags = new Map<string, string>();
  const left = words.values();
  for (const word of left) {
    if (!word.startsWith('--')) {
      plain.push(word);
      continue;
    }
    const [name = '', ...rest] = word.split('=');
    const takesValue = withValue.includes(name);
    const value = rest.length > 0 ? rest.join('=') : takesValue ? left.next().value : '';
    if (flags.has(name) || value === undefined || (value === '') === takesValue) return undefined;
    flags.set(name, value);
  }
  return { plain, flags };
};

const countIn = (flags: Words['flags'], name: string): number | undefined => {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  if (!COUNT.test(text)) throw problem(`${name}: expected a whole number from 1`);
  return Number(text);
};
const ageIn = (flags: Words['flags'], name: string): number | undefined => {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  const [, count, unit = ''] = AGE.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs === undefined) throw problem(`${name}: expected a number and m, h, d or w, such as 30d`);
  return Number(count) * unitMs;
};

const pruning = ({ plain, flags }: Words): AgentTask | undefined => {
  const known = ['--older-than', '--keep', '--dry-run'];
  if (plain.length > 0 || [...flags.keys()].some((name) => !known.includes(name))) return undefined;
  const [ageMs, count] = [ageIn(flags, '--older-than'), countIn(flags, '--keep')];
  if (ageMs === undefined && count === undefined)
    throw problem('expected --older-than with an age such as 30d, --keep with a number of sessions, or both');
  return { kind: 'prune', limits: { ageMs, count }, isDryRun: flags.has('--dry-run') };
};
const listing = ({ plain, flags }: Words): AgentTask | undefined => {
  const known = ['--limit', '--json'];
  if (plain.length > 0 || [...flags.keys()].some((name) => !known.includes(name))) return undefined;
  return { kind: 'sessions', limit: countIn(flags, '--limit') ?? DEFAULT_LIMIT, isJson: flags.has('--json') };
};
const moving = (kind: 'export' | 'import', { plain, flags }: Words): AgentTask | undefined => {
  const [given, ...more] = plain;
  const known = kind === 'import' ? ['--new-ids'] : [];
  if (given === undefined || more.length > 0 || [...flags.keys()].some((name) => !known.includes(name)))
    return undefined;
  if (kind === 'export') return { kind, sessionID: given };
  return { kind, file: given, hasNewIDs: flags.has('--new-ids') };
};

/** The task that words ask for. A `SessionProblem` says what was expected, and never repeats a word. */
export const taskFrom = ([verb, ...words]: readonly string[]): AgentTask => {
  const all = sorted(words, ['--limit', '--older-than', '--keep']);
  const taskOf = (): AgentTask | undefined => {
    if (all === undefined) return undefined;
    if (verb === 'sessions') return listing(all);
    if (verb === 'prune') return pruning(all);
    return verb === 'export' || verb === 'import' ? moving(verb, all) : undefined;
  };
  const task = taskOf();
  if (task !== undefined) return task;
  const [known] = Object.entries(WAYS).filter(([name]) => name === verb);
  throw problem(`expected ${known?.[1] ?? `one of ${Object.keys(WAYS).join(', ')}`}`);
};
