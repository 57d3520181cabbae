import * as v from 'valibot';
import { parseJson } from '../../core/json.ts';
import { answer, calls, type ModelScript, type ScriptedAnswer, text } from './reply.ts';
import type { DemoModelMessage, ReceivedRequest } from './request.ts';

const TITLE_WORDS = 6;
const SHOWN_CHARS = 200;
const KEY_CHARS = 32;
/** An address and an amount, or a name "by" an amount. */
const RECHARGE_REQUEST =
  /\b(?:recharge|credit|top up)\s+(?:user\s+)?(?:(\S+@\S+?)[,.:]?\s+(?:(?:with|by)\s+)?|([a-z][\w.-]*)\s+by\s+)\$?(\d+(?:\.\d+)?)/i;
/** The domain of most users of the demo relay. */
const DEFAULT_DOMAIN = 'example.com';
const ADMIN_TOOLS = ['find_user', 'preview_recharge', 'recharge'] as const;
type AdminTool = (typeof ADMIN_TOOLS)[number];

const Found = v.object({ user: v.object({ id: v.number() }) });
const Previewed = v.object({ preview_token: v.string() });
const Recharged = v.object({ outcome: v.string(), advice: v.string(), balance_after: v.nullable(v.string()) });

type RechargeRequest = { readonly email: string; readonly amount: string };

/** An answer in several pieces, so that a client shows the streaming. */
const answerText = (sentence: string): ScriptedAnswer => answer(text(...(sentence.match(/\S+\s*/g) ?? [''])));
const shorten = (words: string): string => words.replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS);

/** Clients prefix the server's name. `preview_recharge` also ends with `recharge`, and is another tool. */
const isTool = (name: string, tool: AdminTool): boolean =>
  tool === 'recharge' ? /(?:^|[^a-z])(?<!preview_)recharge$/.test(name) : name.endsWith(tool);

const parseJsonIn = <Schema extends v.GenericSchema>(
  schema: Schema,
  words: string,
): v.InferOutput<Schema> | undefined => parseJson(schema, words.slice(words.indexOf('{')));

/** One key for each preview, so that a repeated step makes the same call. */
const keyFor = (token: string): string =>
  `demo-${token
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(-KEY_CHARS)
    .padStart(KEY_CHARS, '0')}`;

/** The next step of a recharge, by the tools' results so far. */
const nextRechargeStep = (
  { email, amount }: RechargeRequest,
  steps: readonly DemoModelMessage[],
  nameOf: (tool: AdminTool) => string,
): ScriptedAnswer => {
  const last = steps.findLast((turn) => turn.role === 'tool');
  const call = (tool: AdminTool, given: unknown) => answer(calls({ name: nameOf(tool), arguments: given }));
  if (last === undefined) return call('find_user', { email });
  if (isTool(last.name, 'find_user')) {
    const found = parseJsonIn(Found, last.text);
    if (found !== undefined) return call('preview_recharge', { user_id: found.user.id, amount });
  }
  if (isTool(last.name, 'preview_recharge')) {
    const previewed = parseJsonIn(Previewed, last.text);
    const token = previewed?.preview_token;
    if (token !== undefined) return call('recharge', { preview_token: token, idempotency_key: keyFor(token) });
  }
  const recharged = isTool(last.name, 'recharge') ? parseJsonIn(Recharged, last.text) : undefined;
  if (recharged === undefined) return answerText(`I stopped, because ${last.name} answered: ${shorten(last.text)}`);
  const { outcome, advice, balance_after: balance } = recharged;
  if (outcome !== 'verified') return answerText(`The recharge of ${email} is not confirmed (${outcome}). ${advice}`);
  return answerText(
    `Verified: ${amount} was added for ${email}${balance === null ? '' : `, whose balance is now ${balance}`}.`,
  );
};

const delegateRecharge = ({ email, amount }: RechargeRequest, steps: readonly DemoModelMessage[]): ScriptedAnswer => {
  const last = steps.findLast((turn) => turn.role === 'tool');
  if (last !== undefined) return answerText(`The maintainer says: ${shorten(last.text)}`);
  const prompt = `recharge ${email} ${amount}`;
  return answer(
    calls({ name: 'task', arguments: { description: 'Recharge a user', prompt, subagent_type: 'maintainer' } }),
  );
};

const createTitle = (words: string): ScriptedAnswer =>
  answer(text(shorten(words).split(' ').slice(0, TITLE_WORDS).join(' ') || 'A conversation'));

const isTitleRequest = ({ system }: ReceivedRequest): boolean =>
  /\btitle generator\b|\b(?:generate|write|make)\b.{0,40}\btitle\b/is.test(system);

/**
 * The demo's script: a title for a title request, a recharge through the admin tools or the maintainer, and a sentence
 * about itself for everything else. The same request always gets the same answer.
 */
export const demoScript: ModelScript = (request) => {
  const { turns, tools } = request;
  const start = turns.findLastIndex(({ role }) => role === 'user');
  const question = turns[start];
  const words = question?.role === 'user' ? question.text : '';
  if (isTitleRequest(request)) return createTitle(words);
  const [, address, name, amount] = RECHARGE_REQUEST.exec(words) ?? [];
  const email = address ?? (name && `${name}@${DEFAULT_DOMAIN}`);
  if (email !== undefined && amount !== undefined) {
    const steps = turns.slice(start + 1);
    const offered = (tool: AdminTool): string | undefined => tools.find((name) => isTool(name, tool));
    const wanted = { email, amount };
    if (ADMIN_TOOLS.every((tool) => offered(tool) !== undefined)) {
      return nextRechargeStep(wanted, steps, (tool) => offered(tool) ?? tool);
    }
    if (tools.includes('task')) return delegateRecharge(wanted, steps);
    return answerText('I have no tools for a recharge.');
  }
  return answerText(
    `You said: "${shorten(words)}". I am the demo model, a script that understands nothing; try "recharge alice@example.com 5".`,
  );
};
