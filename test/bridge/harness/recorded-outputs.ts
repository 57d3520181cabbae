import type { AnswerFailure } from '../../../src/bridge/errors.ts';
import type { AnswerEnd, ApprovalRequest, OutputEvent, Usage } from '../../../src/bridge/output.ts';
import type { Fault } from '../../../src/core/fault.ts';

export const COST: Usage = { prompt: 30, cached: 10, cacheWritten: 4, completion: 7, reasoning: 2 };

export const ASK: ApprovalRequest = {
  id: 'per_0198abcd',
  sessionID: 'ses_1',
  tool: 'relay_recharge',
  input: '{}',
  notes: [],
};

export const textEvents = (id: string, ...pieces: readonly string[]): readonly OutputEvent[] => [
  ...pieces.map((text) => ({ kind: 'text' as const, id, text })),
  { kind: 'text-end', id },
];

export const thought = (id: string, ...pieces: readonly string[]): readonly OutputEvent[] => [
  ...pieces.map((text) => ({ kind: 'reasoning' as const, id, text })),
  { kind: 'reasoning-end', id },
];

export const ranTool = (name: string, isError = false): readonly OutputEvent[] => {
  const call = { id: `call_${name}`, name, input: '{}' };
  return [
    { kind: 'call', call },
    { kind: 'call-end', call, output: 'the output', isError },
  ];
};

export const ended = (end: Partial<AnswerEnd> = {}): OutputEvent => ({
  kind: 'end',
  end: { finish: 'stop', usage: COST, approvalRequests: [], ...end },
});

export const FAILURE: AnswerFailure = { status: 502, code: 'model_error', message: "The agent's model failed" };

export const failed = (failure: AnswerFailure = FAILURE): OutputEvent => ({ kind: 'failure', failure });

export type Reported = OutputEvent | readonly OutputEvent[];

/** Sayings as an answer on its way tells them, one after the other. */
export async function* reporting(...outputEvents: readonly Reported[]): AsyncGenerator<OutputEvent> {
  for (const outputEvent of outputEvents.flat()) yield outputEvent;
}

/** The detail of the fault that `run` throws, as plain text to compare: code, and place. */
export const refusalOf = (run: () => unknown): string => {
  try {
    run();
  } catch (thrown) {
    const { detail } = thrown as Fault;
    if (detail.kind === 'bad-input') return `${detail.code} at ${detail.param}`;
    throw thrown;
  }
  return 'nothing was refused';
};
