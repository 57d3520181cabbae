import { SCANNERS } from './settings.ts';

/** What the platform makes of one answer of a guard model. */
export type ReplyResult = 'pass' | 'flag' | 'block' | 'invalid';

const ALIASES: Readonly<Record<string, string>> = {
  violence: 'violent',
  sexual: 'sexual content or sexual acts',
  unethical: 'unethical acts',
  political: 'politically sensitive topics',
  copyright: 'copyright violation',
  'prompt injection': 'jailbreak',
};
const BLOCKED_IN_DOUBT = ['jailbreak', 'pii', 'suicide self harm'];

const normal = (name: string): string => {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/[_&/-]/g, ' ')
    .replace(/ +/g, ' ');
  return ALIASES[plain] ?? plain;
};

type GuardReply = { readonly safety: string; readonly categories: readonly string[] };

/** The two lines of an answer; undefined where it is invalid. */
const readLines = (content: string): GuardReply | undefined => {
  const found: Record<'safety' | 'categories', string[]> = { safety: [], categories: [] };
  for (const line of content.split(/\r?\n/).map((text) => text.trim())) {
    const [, prefix, rest = ''] = /^(safety|categories):(.*)$/i.exec(line) ?? [];
    if (prefix !== undefined) found[/^s/i.test(prefix) ? 'safety' : 'categories'].push(rest.trim());
  }
  const [safety, second] = found.safety;
  const [categories, other] = found.categories;
  if (safety === undefined || categories === undefined || second !== undefined || other !== undefined) return undefined;
  if (!/^(?:safe|controversial|unsafe)$/i.test(safety) || categories === '') return undefined;
  const names = categories.split(',').map(normal);
  return {
    safety: safety.toLowerCase(),
    categories: names.filter((name) => !['', 'none', 'n a', 'n/a'].includes(name)),
  };
};

const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts
    .map((part) => (typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : ''))
    .join('\n');
};

/**
 * What the platform does with the content of an answer, with these of its scanners enabled. It wants the two lines exactly, and blocks
 * three categories even in doubt. Source: Wei-Shaw/sub2api 0.1.179, backend/internal/securityaudit/prompt_qwen3guard.go.
 */
export const decideReply = (content: unknown, enabled: readonly string[] = SCANNERS): ReplyResult => {
  const text = textOf(content);
  const reply = text.trim() === '' ? undefined : readLines(text);
  if (reply === undefined) return 'invalid';
  if (reply.safety === 'safe') return 'pass';
  const isEnabled = (name: string): boolean => enabled.includes(name);
  if (reply.safety === 'controversial')
    return reply.categories.some((name) => BLOCKED_IN_DOUBT.includes(name) && isEnabled(name)) ? 'block' : 'flag';
  const isBlocked =
    reply.categories.length === 0 || reply.categories.some((name) => isEnabled(name) || !SCANNERS.includes(name));
  return isBlocked ? 'block' : 'flag';
};
