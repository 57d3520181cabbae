import * as v from 'valibot';
import type { AskedModel, ModelScript } from './control.ts';
import { answer, calls, type ScriptedAnswer, text } from './reply.ts';
import type { Turn } from './request.ts';

const TITLE_WORDS = 6;
const SHOWN_CHARS = 200;
const KEY_CHARS = 32;
/** An address and an amount, or a bare name "by" an amount. */
const WANTED =
  /\b(?:recharge|credit|top up)\s+(?:user\s+)?(?:(\S+@\S+?)[,.:]?\s+(?:(?:with|by)\s+)?|([a-z][\w.-]*)\s+by\s+)\$?(\d+(?:\.\d+)?)/i;
/** Where most people of the demo's relay are at home. */
const HOME_DOMAIN = 'example.com';
const ADMIN_TOOLS = ['find_user', 'preview_recharge', 'recharge'] as const;
type AdminTool = (typeof ADMIN_TOOLS)[number];

const Found = v.object({ user: v.object({ id: v.number() }) });
const Previewed = v.object({ preview_token: v.string() });
const Recharged = v.object({ outcome: v.string(), advice: v.string(), balance_after: v.nullable(v.string()) });

type Wanted = { readonly email: string; readonly amount: string };

/** In a few words, so that a client shows how they come one by one. */
const says = (sentence: string): ScriptedAnswer => answer(text(...(sentence.match(/\S+\s*/g) ?? [''])));
const shown = (words: string): string => words.replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS);

/** Clients put the server's name in front. `preview_recharge` ends like `recharge` and is not meant by it. */
const isTool = (name: string, tool: AdminTool): boolean =>
  tool === 'recharge' ? /(?:^|[^a-z])(?<!preview_)recharge$/.test(name) : name.endsWith(tool);

const read = <Schema extends v.GenericSchema>(schema: Schema, words: string): v.InferOutput<Schema> | undefined => {
  try {
    const result = v.safeParse(schema, JSON.parse(words.slice(words.indexOf('{'))));
    return result.success ? result.output : undefined;
  } catch {
    return undefined;
  }
};

/** One key for one preview, so that the same step makes the same call again. */
const keyFor = (token: string): string =>
  `demo-${token
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(-KEY_CHARS)
    .padStart(KEY_CHARS, '0')}`;

/** The next step of a recharge, by what the tools have answered so far. */
const rechargeStep = (
  { email, amount }: Wanted,
  steps: readonly Turn[],
  nameOf: (tool: AdminTool) => string,
): ScriptedAnswer => {
  const last = steps.findLast((turn) => turn.role === 'tool');
  const call = (tool: AdminTool, given: unknown) => answer(calls({ name: nameOf(tool), arguments: given }));
  if (last === undefined) return call('find_user', { email });
  if (isTool(last.name, 'find_user')) {
    const found = read(Found, last.text);
    if (found !== undefined) return call('preview_recharge', { user_id: found.user.id, amount });
  }
  if (isTool(last.name, 'preview_recharge')) {
    const previewed = read(Previewed, last.text);
    const token = previewed?.preview_token;
    if (token !== undefined) return call('recharge', { preview_token: token, idempotency_key: keyFor(token) });
  }
  const recharged = isTool(last.name, 'recharge') ? read(Recharged, last.text) : undefined;
  if (recharged === undefined) return says(`I stopped, because ${last.name} answered: ${shown(last.text)}`);
  const { outcome, advice, balance_after: balance } = recharged;
  if (outcome !== 'verified') return says(`The recharge of ${email} is not confirmed (${outcome}). ${advice}`);
  return says(
    `Verified: ${amount} was added for ${email}${balance === null ? '' : `, whose balance is now ${balance}`}.`,
  );
};

const handedOn = ({ email, amount }: Wanted, steps: readonly Turn[]): ScriptedAnswer => {
  const last = steps.findLast((turn) => turn.role === 'tool');
  if (last !== undefined) return says(`The maintainer says: ${shown(last.text)}`);
  const prompt = `recharge ${email} ${amount}`;
  return answer(
    calls({ name: 'task', arguments: { description: 'Recharge a user', prompt, subagent_type: 'maintainer' } }),
  );
};

const titleFor = (words: string): ScriptedAnswer =>
  answer(text(shown(words).split(' ').slice(0, TITLE_WORDS).join(' ') || 'A conversation'));

const isAskedForTitle = ({ system }: AskedModel): boolean =>
  /\btitle generator\b|\b(?:generate|write|make)\b.{0,40}\btitle\b/is.test(system);

/**
 * What the demo's model says: a title when it is asked for one, a recharge through the admin tools or the maintainer, and
 * a sentence about itself for all else. The same question always gets the same answer.
 */
export const demoScript: ModelScript = (asked) => {
  const { turns, tools } = asked;
  const start = turns.findLastIndex(({ role }) => role === 'user');
  const question = turns[start];
  const words = question?.role === 'user' ? question.text : '';
  if (isAskedForTitle(asked)) return titleFor(words);
  const [, address, name, amount] = WANTED.exec(words) ?? [];
  const email = address ?? (name && `${name}@${HOME_DOMAIN}`);
  if (email !== undefined && amount !== undefined) {
    const steps = turns.slice(start + 1);
    const offered = (tool: AdminTool): string | undefined => tools.find((name) => isTool(name, tool));
    const wanted = { email, amount };
    if (ADMIN_TOOLS.every((tool) => offered(tool) !== undefined)) {
      return rechargeStep(wanted, steps, (tool) => offered(tool) ?? tool);
    }
    if (tools.includes('task')) return handedOn(wanted, steps);
    return says('I have no tools to recharge anybody with.');
  }
  return says(
    `You said: "${shown(words)}". I am the demo model, a script without understanding; try "recharge alice@example.com 5".`,
  );
};
