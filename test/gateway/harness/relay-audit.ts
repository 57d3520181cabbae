import { cutParts } from '../../../src/demo/relay/audit/prompt.ts';
import { decideReply, type ReplyResult } from '../../../src/demo/relay/audit/reply.ts';

/**
 * A relay platform's prompt audit, re-stated from its published behaviour: how it cuts a prompt, asks a guard model and reads the
 * answer. Source: Wei-Shaw/sub2api 0.1.179, backend/internal/securityaudit.
 */

/** Answers a request of the platform, or throws as a lost connection does. */
export type GuardNode = (body: unknown) => Promise<Response>;

/** What a user of the platform is told: `pass`, `flag` and `block`, or why the audit could not be made. */
export type AuditOutcome = Exclude<ReplyResult, 'invalid'> | 'unavailable' | 'invalid';

/** One user's parts, oldest first. */
export type Prompt = readonly string[];

/** The chunks of a prompt: the latest part first, and the rest in its order. */
export const chunksOf = (parts: Prompt, inputLimit = 4000): readonly string[] =>
  cutParts(parts.at(-1) ?? '', parts.slice(0, -1), inputLimit);

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
      return decideReply(body.choices?.[0]?.message?.content);
    } catch {
      return 'invalid';
    }
  }
  return 'unavailable';
};
