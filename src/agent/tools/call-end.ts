import type { Publication } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import type { ToolPart, ToolState } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { limitOutput } from './output-limit.ts';
import type { ToolOutcome } from './tool.ts';

type EndedCall = {
  readonly part: ToolPart;
  readonly outcome: ToolOutcome;
  readonly time: { readonly start: number; readonly end: number };
};

/** Stores a call with its outcome, and sends it. Of a long output the part has the beginning, and the whole is stored beside it. */
export const callEndPublication = (
  { ids, outputLimits }: Pick<AgentRuntime, 'ids' | 'outputLimits'>,
  { part, outcome, time }: EndedCall,
): Publication => {
  const { input } = part.state;
  const { shown, isCut } = limitOutput(outcome.output, outputLimits);
  const { title, metadata, files = [] } = outcome;
  const { sessionID, messageID } = part;
  const attachments = files.map((file) => ({
    id: ids('part'),
    sessionID,
    messageID,
    type: 'file' as const,
    ...file,
  }));
  const state: ToolState = outcome.isError
    ? { status: 'error', input, error: shown, metadata, time }
    : {
        status: 'completed',
        input,
        output: shown,
        title,
        metadata: { ...metadata, truncated: isCut },
        time,
        ...(attachments.length === 0 ? {} : { attachments }),
      };
  const fact = partPublication({ ...part, state }, time.end);
  const stored = isCut ? [{ kind: 'output' as const, sessionID, partID: part.id, text: outcome.output }] : [];
  return { ...fact, changes: [...(fact.changes ?? []), ...stored] };
};
