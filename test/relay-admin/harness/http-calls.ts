import * as assert from 'uvu/assert';
import type { ToolAnswer } from '../../../src/relay-admin/app.ts';
import { demandGoodAnswer } from './answer-rules.ts';
import { leaksIn, relayTextIn, wholeError } from './canaries.ts';
import type { HttpTools } from './http-world.ts';
import type { ToolName } from './tool-arguments.ts';

/** A busy machine comes late to its timers; a call that is not bounded at all comes much later. */
const LATE_MS = 1500;

/** Calls a tool over sockets, within its time, and holds all that it left behind against the rules. */
export const httpCall = async (tools: HttpTools, name: ToolName, given: unknown): Promise<ToolAnswer> => {
  const startedAt = performance.now();
  const answer = await tools.admin.call(name, given, new AbortController().signal);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < tools.limitMs + LATE_MS, `${name} took ${Math.round(tookMs)} ms`);
  demandGoodAnswer(name, answer);
  for (const text of [...tools.written(), ...tools.thrown.map(wholeError)]) {
    assert.equal(leaksIn(text), [], text);
    assert.is(relayTextIn(text), undefined, text);
  }
  return answer;
};

/** What an answer is in a word: its code, its outcome, or that it is done. */
export const wordOf = (answer: ToolAnswer): string => {
  if (answer.kind === 'failed') return answer.text.slice(0, answer.text.indexOf(':'));
  if (answer.kind === 'done') return String(answer.result.outcome ?? 'done');
  return answer.kind;
};
