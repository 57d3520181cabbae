import { createReadTool } from '../../../../src/relay-admin/tools/read.ts';
import { createScriptedRelay } from '../../harness/scripted-relay.ts';
import { callTool } from '../tool-calls.ts';

/** What the tool shows of this data of the relay, and what it asked for. */
export const readOf = async (data: unknown, given: unknown) => {
  const { relay, asked } = createScriptedRelay(() => data);
  const result = await callTool(createReadTool({ relay, hideKey: (text) => text }), given);
  return { result, asked };
};
