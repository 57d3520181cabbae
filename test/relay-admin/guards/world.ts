import * as assert from 'uvu/assert';
import type { ToolAnswer } from '../../../src/relay-admin/app.ts';
import { ARGUMENT } from '../harness/hostile-arguments.ts';
import { READERS, type ToolName } from '../harness/tool-arguments.ts';
import { type WatchedWorld, watchedCall } from '../harness/watched-world.ts';

/** Whether a tool refused the call with this code. */
export const isRefusal = (answer: ToolAnswer, code: string): boolean =>
  answer.kind === 'failed' && answer.text.startsWith(code);

/** Calls with arguments that may be anything, and keeps no more of the requests than those of this call. */
export const bluntCall = async (world: WatchedWorld, name: ToolName, given: unknown): Promise<ToolAnswer> => {
  world.control.clearRequests();
  world.thrown.length = 0;
  const answer = await watchedCall(world, name, given);
  if (answer.kind === 'failed') assert.not(answer.text.includes(ARGUMENT), answer.text);
  if (READERS.includes(name)) assert.equal(methodsIn(world), [], name);
  return answer;
};
/** The methods of all requests but reads. */
export const methodsIn = ({ control }: WatchedWorld): readonly string[] =>
  control
    .requests()
    .map(({ method }) => method)
    .filter((method) => method !== 'GET');
