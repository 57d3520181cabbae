import { createHash } from 'node:crypto';
import type { Answering } from './fake-services.ts';

type Given = Readonly<Record<string, unknown>>;

const hashOf = (given: unknown): string => createHash('sha256').update(JSON.stringify(given)).digest('hex');

/** An agent server with open requests: it takes one answer for each, as ours does. */
export const createFakeAgent = (now: () => number) => {
  const open = new Map<string, Given>();
  const decisions: Given[] = [];
  const standing: Given[] = [];
  const others: Record<string, Given | readonly Given[]> = {};
  /** Answers that are no JSON, or such as nobody writes. */
  const texts: Record<string, string> = {};
  /** Paths that are answered with a 500. */
  const failing = new Set<string>();
  const ask = (id: string, given: Given = { user_id: 7 }, more: Given = {}): void => {
    open.set(id, {
      ...{
        id,
        sessionID: 'ses_1',
        permission: 'relay-admin_recharge',
        patterns: ['*'],
        always: ['*'],
        alwaysMs: 3_600_000,
      },
      metadata: { tool: 'relay-admin_recharge', input: given },
      arguments: given,
      argumentsHash: hashOf(given),
      title: 'Credit for Ann',
      time: { asked: now(), ends: now() + 300_000 },
      ...more,
    });
  };
  const reply = (id: string, body: Given): { readonly status: number; readonly value: unknown } => {
    const request = open.get(id);
    if (request === undefined) {
      const { reply: kept, by, at, message } = decisions.find((decision) => decision.id === id) ?? {};
      const decided = kept === undefined ? undefined : { reply: kept, by, at, message };
      return { status: 404, value: { name: 'NotFoundError', data: { message: 'no longer open', decided } } };
    }
    if (body.argumentsHash !== undefined && body.argumentsHash !== request.argumentsHash)
      return {
        status: 409,
        value: { name: 'ArgumentsChangedError', data: { message: 'x', code: 'arguments_changed' } },
      };
    open.delete(id);
    const { sessionID, permission, patterns } = request;
    decisions.unshift({ id, sessionID, permission, patterns, ...body, tool: request.tool, at: now() });
    return { status: 200, value: true };
  };
  const answer: Answering = ({ method, path, body }) => {
    if (failing.has(path)) return { status: 500 };
    const [, id] = /^\/permission\/(\w+)\/reply$/.exec(path) ?? [];
    if (id !== undefined && method === 'POST') return reply(id, body as Given);
    if (path === '/permission') return { value: [...open.values()] };
    if (path.startsWith('/permission/decisions')) {
      const isAsked = path.includes('asked=true');
      return { value: decisions.filter(({ through, asked }) => !isAsked || !through || asked).slice(0, 100) };
    }
    const text = texts[path.split('?')[0] ?? ''];
    if (text !== undefined) return { text };
    if (path === '/permission/standing') return { value: standing };
    const rule = standing.findIndex((one) => path === `/permission/standing/${one.id}`);
    if (rule !== -1 && method === 'DELETE') return { value: standing.splice(rule, 1).length === 1 };
    const found = others[path] ?? others[path.split('?')[0] ?? ''];
    return found === undefined ? undefined : { value: found };
  };
  return { open, decisions, standing, others, texts, failing, ask, reply, answer, hashOf };
};
