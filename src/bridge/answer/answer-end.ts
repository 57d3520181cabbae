import type { ApprovalRequest, ClientCall, OutputEvent, Usage } from '../output.ts';
import type { TurnSnapshot, TurnUsage } from '../turns/port.ts';
import { toApprovalRequest, toApprovalText } from './approvals/text.ts';
import type { createEntryReader } from './entry-reader.ts';
import { turnEndOf } from './failure.ts';

/** What the bridge itself writes into an answer. */
export type OwnTexts = {
  /** With which it begins. */
  readonly opening?: string | undefined;
  /** In place of an answer without any text. */
  readonly ifSilent?: string | undefined;
  /** The permission requests with which it has ended, where they were decided on since. */
  readonly asked?: readonly ApprovalRequest[];
};

/** Whether nothing is added to a turn any more. */
export const hasEnded = ({ status }: Pick<TurnSnapshot, 'status'>): boolean =>
  status !== 'queued' && status !== 'running' && status !== 'waiting';

/** Tokens in OpenAI's sense. */
export const toUsage = ({ input, output, reasoning, cacheRead, cacheWrite }: TurnUsage): Usage => ({
  prompt: input + cacheRead + cacheWrite,
  cached: cacheRead,
  cacheWritten: cacheWrite,
  completion: output + reasoning,
  reasoning,
});

/** The permission requests of a turn that waits, as a person sees them. */
export const approvalRequestsOf = ({ waiting, sessionID }: TurnSnapshot): readonly ApprovalRequest[] =>
  waiting.map((request) => toApprovalRequest(request, sessionID));

/** A text of the bridge before or after those of the agent; nothing if it is empty. */
export const ownText = (id: 'opening' | 'closing' | 'gatehouse', text: string): readonly OutputEvent[] =>
  text === ''
    ? []
    : [
        { kind: 'text', id, text },
        { kind: 'text-end', id },
      ];

const clientCallEvents = (calls: readonly ClientCall[]): readonly OutputEvent[] =>
  calls.map((call) => ({ kind: 'client-call', ...call }));

type EntryReader = ReturnType<typeof createEntryReader>;

/** The last events of an answer that ends with permission requests, while its turn waits. */
export const endWithRequests = (
  reader: EntryReader,
  turn: TurnSnapshot,
  approvalRequests: readonly ApprovalRequest[],
): readonly OutputEvent[] => [
  ...reader.end(approvalRequests),
  ...ownText('closing', toApprovalText(approvalRequests)),
  { kind: 'end', end: { finish: 'stop', usage: toUsage(turn.usage), approvalRequests } },
];

/** The last events of an answer whose turn has ended. */
export const endWithTurn = (
  reader: EntryReader,
  turn: TurnSnapshot,
  { ifSilent = '', asked = [] }: OwnTexts,
): readonly OutputEvent[] => {
  if (turn.status === 'continued' && asked.length > 0) return endWithRequests(reader, turn, asked);
  const closing = reader.end([]);
  const end = turnEndOf(turn);
  if (end.kind === 'failed') return [...closing, { kind: 'failure', failure: end.failure }];
  const calls = turn.status === 'calls' || turn.status === 'continued' ? reader.clientCalls() : [];
  const isSilent = !reader.hasText() && calls.length === 0;
  const finish = calls.length > 0 ? 'tool_calls' : end.finish;
  return [
    ...closing,
    ...ownText('closing', isSilent ? ifSilent : ''),
    ...clientCallEvents(calls),
    {
      kind: 'end',
      end: {
        ...{ finish, usage: toUsage(turn.usage), approvalRequests: [] },
        ...(turn.status === 'aborted' ? { isAborted: true } : {}),
      },
    },
  ];
};
