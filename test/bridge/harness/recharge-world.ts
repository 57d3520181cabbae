import type { Action, Rule } from '../../../src/agent/protocol/types.ts';
import type { AgentTool } from '../../../src/agent/tools/tool.ts';
import { calling, outcome, type Script, toolNamed } from '../../agent/harness/world.ts';
import { answering } from './model-scripts.ts';
import { assistant, type BridgeGiven, type BridgeWorld, type ChatReply, callsTo, user } from './world.ts';

const rule = (permission: string, action: Action): Rule => ({ permission, pattern: '*', action });

type Paying = {
  readonly given: BridgeGiven;
  /** What was paid, in order. */
  readonly paid: unknown[];
};

/** Calls `pay` once for each amount, all in one step. */
export const pay = (...amounts: readonly number[]): Script =>
  calling(...amounts.map((amount) => ({ name: 'pay', input: { amount } })));

/** Says what it was told of the call. */
export const reporting: Script = answering((_words, { messages }) => {
  const last = messages.at(-1);
  return last?.role === 'tool' ? `So: ${last.results.map(({ output }) => output).join(', ')}` : 'What now?';
});

/** An agent that may look at everything and has to ask before it pays. */
export const paying = (scripts: readonly Script[], more: BridgeGiven = {}): Paying => {
  const paid: unknown[] = [];
  const run: AgentTool['run'] = async (input) => {
    paid.push(input);
    return outcome(`paid ${JSON.stringify(input)}`);
  };
  const rules = [rule('*', 'allow'), rule('pay', 'ask')];
  return { paid, given: { scripts, rules, tools: [toolNamed('pay', run)], ...more } };
};

/** The ids that a question names, in order. */
export const idsIn = (text: string): readonly string[] =>
  [...text.matchAll(/Reply "approve (\w+)" or "reject \1"\./g)].map(([, id = '']) => id);
export const idIn = (text: string): string => idsIn(text)[0] ?? 'no id';

/** The same chat, going on after an answer. */
export const answerWith = (world: BridgeWorld, asked: string, { text }: Pick<ChatReply, 'text'>, words: string) =>
  world.chat({ messages: [user(asked), assistant(text), user(words)] });

/** How the agent was answered. */
export const repliesTo = (world: BridgeWorld): readonly unknown[] =>
  callsTo(world, 'POST', /^\/gatehouse\/turns(?:\/\w+\/decisions)?$/).flatMap(({ body }) => {
    const { decisions = [], by } = body as { decisions?: readonly { reply: string; message?: string }[]; by?: string };
    return decisions.map(({ reply, message }) => ({ reply, ...(message === undefined ? {} : { message }), by }));
  });
