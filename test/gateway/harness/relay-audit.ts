/**
 * A relay platform's prompt audit, re-stated from its published behaviour: how it cuts a prompt, asks a guard model and reads the
 * answer. Source: Wei-Shaw/sub2api 0.1.179, backend/internal/securityaudit.
 */

/** What the platform makes of one answer. */
export type AuditResult = 'pass' | 'flag' | 'block' | 'invalid';

const ALIASES: Readonly<Record<string, string>> = {
  violence: 'violent',
  sexual: 'sexual content or sexual acts',
  unethical: 'unethical acts',
  political: 'politically sensitive topics',
  copyright: 'copyright violation',
  'prompt injection': 'jailbreak',
};
const SCANNERS: readonly string[] = [
  'violent',
  'non violent illegal acts',
  'sexual content or sexual acts',
  'pii',
  'suicide self harm',
  'unethical acts',
  'politically sensitive topics',
  'copyright violation',
  'jailbreak',
];
const BLOCKED_IN_DOUBT = ['jailbreak', 'pii', 'suicide self harm'];

const normal = (name: string): string => {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/[_&/-]/g, ' ')
    .replace(/ +/g, ' ');
  return ALIASES[plain] ?? plain;
};

type Audit = { readonly safety: string; readonly categories: readonly string[] };

/** The two lines of an answer; undefined where it is invalid. */
export const readAudit = (content: string): Audit | undefined => {
  const found: Record<'safety' | 'categories', string[]> = { safety: [], categories: [] };
  for (const line of content.split(/\r?\n/).map((text) => text.trim())) {
    const [, prefix, rest = ''] = /^(safety|categories):(.*)$/i.exec(line) ?? [];
    if (prefix !== undefined) found[prefix.toLowerCase() as 'safety' | 'categories'].push(rest.trim());
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

/** What the platform does with an answer, with these of its scanners enabled. */
export const decide = (content: unknown, enabled: readonly string[] = SCANNERS): AuditResult => {
  const text = Array.isArray(content)
    ? content.map(({ text }: { text: string }) => text).join('\n')
    : typeof content === 'string'
      ? content
      : '';
  const audit = text.trim() === '' ? undefined : readAudit(text);
  if (audit === undefined) return 'invalid';
  if (audit.safety === 'safe') return 'pass';
  const isEnabled = (name: string) => enabled.includes(name);
  if (audit.safety === 'controversial')
    return audit.categories.some((name) => BLOCKED_IN_DOUBT.includes(name) && isEnabled(name)) ? 'block' : 'flag';
  const isBlocked =
    audit.categories.length === 0 || audit.categories.some((name) => isEnabled(name) || !SCANNERS.includes(name));
  return isBlocked ? 'block' : 'flag';
};

/** Answers a request of the platform, or throws as a lost connection does. */
export type GuardNode = (body: unknown) => Promise<Response>;

/** What a user of the platform is told: `pass`, `flag` and `block`, or why the audit could not be made. */
export type AuditOutcome = Exclude<AuditResult, 'invalid'> | 'unavailable' | 'invalid';

/** One user's parts, oldest first. */
export type Prompt = readonly string[];

const cut = (text: string, limit: number): string[] => {
  const points = Array.from(text);
  return Array.from({ length: Math.ceil(points.length / limit) }, (_, index) =>
    points.slice(index * limit, (index + 1) * limit).join(''),
  );
};

/** The chunks of a prompt: the latest part first, and the rest in its order. */
export const chunksOf = (parts: Prompt, inputLimit = 4000): readonly string[] => [
  ...cut(parts.at(-1) ?? '', inputLimit),
  ...cut(parts.slice(0, -1).join('\n\n'), inputLimit),
];

/** The body that the platform sends. */
export const auditBody = (content: string, model = 'sileader/qwen3guard:0.6b') => ({
  model,
  messages: [{ role: 'user', content }],
  temperature: 0,
  max_tokens: 64,
  seed: 42,
});

/** Audits a prompt over nodes in their order: a chunk goes to the next node on 429, 5xx and lost connections, and stops at the rest. */
export const auditPrompt = async (
  parts: Prompt,
  nodes: readonly GuardNode[],
  inputLimit?: number,
): Promise<AuditOutcome> => {
  let worst: AuditOutcome = 'pass';
  for (const chunk of chunksOf(parts, inputLimit)) {
    const outcome = await auditChunk(chunk, nodes);
    if (outcome !== 'pass' && outcome !== 'flag') return outcome;
    if (outcome === 'flag') worst = 'flag';
  }
  return worst;
};

const auditChunk = async (chunk: string, nodes: readonly GuardNode[]): Promise<AuditOutcome> => {
  for (const node of nodes) {
    const answer = await node(auditBody(chunk)).catch(() => undefined);
    if (answer === undefined || answer.status === 429 || answer.status >= 500) continue;
    if (!answer.ok) return 'unavailable';
    try {
      const body = (await answer.json()) as { choices?: { message?: { content?: unknown } }[] };
      return decide(body.choices?.[0]?.message?.content);
    } catch {
      return 'invalid';
    }
  }
  return 'unavailable';
};
