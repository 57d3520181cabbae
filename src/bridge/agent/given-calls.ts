import type { AssistantInfo, MessageRecord, PartRecord } from './schema.ts';

export type CallPart = Extract<PartRecord, { readonly type: 'tool' }>;

/** Whether it is a call that the client has to make, or has made. No client gets it before the agent waits for it. */
export const isCallOfClient = ({ state }: CallPart): boolean =>
  state.status !== 'pending' && state.metadata?.clientTool === true;

/** The arguments of a call for its client, as JSON. */
export const argumentsOf = ({ state }: CallPart): string =>
  (state.status === 'pending' ? undefined : state.metadata?.arguments) ?? JSON.stringify(state.input);

/** The client's calls in a message. */
export const clientCallsIn = ({ parts }: MessageRecord): readonly CallPart[] =>
  parts.filter((part): part is CallPart => part.type === 'tool' && isCallOfClient(part));

/** Calls that a client was given together, and what has become of them. */
export type GivenCalls = {
  readonly messageID: string;
  readonly promptID: string;
  readonly callIDs: readonly string[];
  /** Ids of those that wait for their results. */
  readonly waiting: readonly string[];
  /** Ids of those that ended without a result: too late, aborted, or followed by another prompt. */
  readonly unanswered: readonly string[];
  /** Whether their turn goes on after them, or has: the agent owes it. */
  readonly isResumed: boolean;
  /** The last message of their turn, if that has gone on after them. */
  readonly next: AssistantInfo | undefined;
};

/** The last message of a session with one of these calls; undefined where the session has none of them. */
export const findGivenCalls = (
  records: readonly MessageRecord[],
  callIDs: readonly string[],
): GivenCalls | undefined => {
  const position = records.findLastIndex((record) =>
    clientCallsIn(record).some(({ callID }) => callIDs.includes(callID)),
  );
  const found = records[position];
  if (found?.info.role !== 'assistant') return undefined;
  const { id: messageID, parentID: promptID, time } = found.info;
  const prompt = records.find(({ info }) => info.id === promptID)?.info;
  const resumedAt = prompt?.role === 'user' ? prompt.time?.resumed : undefined;
  const calls = clientCallsIn(found);
  const idsIn = (status: CallPart['state']['status']): readonly string[] =>
    calls.filter(({ state }) => state.status === status).map(({ callID }) => callID);
  const later = records
    .slice(position + 1)
    .flatMap(({ info }) => (info.role === 'assistant' && info.parentID === promptID ? [info] : []));
  return {
    messageID,
    promptID,
    callIDs: calls.map(({ callID }) => callID),
    waiting: idsIn('running'),
    unanswered: idsIn('error'),
    isResumed: resumedAt !== undefined && resumedAt >= (time.completed ?? 0),
    next: later.at(-1),
  };
};
