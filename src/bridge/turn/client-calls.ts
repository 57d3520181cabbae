import { argumentsOf, type CallPart } from '../agent/given-calls.ts';
import type { AssistantInfo } from '../agent/schema.ts';
import type { ClientCall } from '../output.ts';
import type { TurnLogWriter } from './log.ts';

/** Collects the calls of a turn that the client has to make, and pauses the turn's log after the messages that have them. */
export const createClientCalls = (writer: Pick<TurnLogWriter, 'pause'>) => {
  /** By message and part. */
  const known = new Map<string, Map<string, ClientCall>>();
  return {
    apply(part: CallPart): void {
      const { id, messageID, callID, tool } = part;
      const calls = known.get(messageID) ?? new Map<string, ClientCall>();
      known.set(messageID, calls.set(id, { id: callID, partID: id, name: tool, input: argumentsOf(part) }));
    },
    /** An answer is complete, or a part of a complete one has come. */
    endMessage({ id, finish, error }: AssistantInfo): void {
      const calls = known.get(id);
      if (calls !== undefined && finish === 'tool-calls' && error === undefined) writer.pause(id, [...calls.values()]);
    },
  };
};
