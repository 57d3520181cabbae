import type { Clock } from '../../core/clock.ts';
import { joinPublications, type Publication, type Publisher } from '../events/publisher.ts';
import { partUpdatedEvent, statusPublication } from '../events/records.ts';
import type { EventDraft } from '../protocol/events.ts';
import { timeDigitsAt } from '../protocol/ids.ts';
import type { AssistantMessage, Part, ToolState } from '../protocol/types.ts';
import type { Leases } from '../store/cluster.ts';
import type { MessageWithParts, Store } from '../store/store.ts';
import { ABORTED_ERROR } from './run-queue.ts';

const CALL_NOT_MADE = 'The server was stopped before this call was made, so it was not made';
const CALL_OUTCOME_UNKNOWN =
  'The server was stopped while this call was under way; whether it was carried out is not known';
/** Events are read in pieces: some of them hold long texts. */
const EVENTS_AT_ONCE = { limit: 100, limitBytes: 1024 * 1024 };
const TIME_DIGITS = [4, 16] as const;

/** A call is running from before it is made: until then it waits, for its arguments or for a person. */
const endCall = (state: ToolState, now: number): ToolState | undefined => {
  const { status, input } = state;
  if (status === 'pending') return { status: 'error', input, error: CALL_NOT_MADE, time: { start: now, end: now } };
  if (status !== 'running') return undefined;
  return { status: 'error', input, error: CALL_OUTCOME_UNKNOWN, time: { start: state.time.start, end: now } };
};

/** A part that was being made when the process ended, as it stays. */
const endPart = (part: Part, now: number): Part | undefined => {
  if (part.type === 'tool') {
    const state = endCall(part.state, now);
    return state === undefined ? undefined : { ...part, state };
  }
  if ((part.type === 'text' || part.type === 'reasoning') && part.time !== undefined && part.time.end === undefined) {
    return { ...part, time: { start: part.time.start, end: now } };
  }
  return undefined;
};

type UnfinishedAnswer = { readonly info: AssistantMessage; readonly parts: readonly Part[] };
const isAssistantMessage = (told: MessageWithParts): told is UnfinishedAnswer => told.info.role === 'assistant';

/** What ends an answer, told as a run that is aborted tells it. */
const answerClosed = ({ info, parts }: UnfinishedAnswer, now: number): Publication => {
  const { sessionID } = info;
  const ended = parts.map((part) => endPart(part, now)).filter((part) => part !== undefined);
  const message: AssistantMessage = {
    ...info,
    error: ABORTED_ERROR,
    finish: 'error',
    time: { ...info.time, completed: now },
  };
  return {
    changes: [...ended.map((part) => ({ kind: 'part' as const, part })), { kind: 'message', message }],
    drafts: [
      ...ended.map((part) => partUpdatedEvent(part, now)),
      { type: 'message.updated', properties: { sessionID, info: message } },
    ],
  };
};
/** That the turn failed, and that nothing runs any more. */
const turnFailed = ({ info: { sessionID } }: UnfinishedAnswer): Publication => {
  const told: Publication = { drafts: [{ type: 'session.error', properties: { sessionID, error: ABORTED_ERROR } }] };
  return joinPublications(told, statusPublication(sessionID, { type: 'idle' }));
};

/** Questions of a session that were told after a message was begun, and whose end was not. */
const readOpenPermissions = async (
  store: Pick<Store, 'events'>,
  { info }: UnfinishedAnswer,
): Promise<readonly string[]> => {
  const open = new Set<string>();
  const directory = info.path.cwd;
  // The time in a message's id may be of a client's clock that is ahead, and those of events never are.
  const [earliest = ''] = [info.id.slice(...TIME_DIGITS), timeDigitsAt(info.time.created)].sort();
  let afterID = `evt_${earliest}`;
  for (;;) {
    const events = await store.events({ afterID, directory, ...EVENTS_AT_ONCE });
    for (const { event } of events) {
      afterID = event.id;
      if (event.type === 'permission.asked' && event.properties.sessionID === info.sessionID)
        open.add(event.properties.id);
      if (event.type === 'permission.replied') open.delete(event.properties.requestID);
    }
    if (events.length === 0) return [...open];
  }
};
const permissionsRejected = (sessionID: string, asks: readonly string[]): Publication => ({
  drafts: asks.map(
    (requestID): EventDraft => ({
      type: 'permission.replied',
      properties: { sessionID, requestID, reply: 'reject' },
    }),
  ),
});

export type RecoveryNeeds = {
  readonly store: Pick<Store, 'unfinished' | 'events'>;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly leases: Pick<Leases, 'acquire' | 'withoutOwner'>;
};

/** Ends what a server that is gone has left unfinished. Answers with the number of answers that were ended. */
export type Recovery = {
  /** Of one session, on which nobody works but who asks. */
  readonly session: (sessionID: string, under: string | undefined) => Promise<number>;
  /** Of all sessions on which no server works. */
  readonly all: () => Promise<number>;
};

/**
 * No session waits for an answer that nobody gives, and no client shows one as busy that does nothing any more.
 */
export const createRecovery = ({ store, publisher, clock, leases }: RecoveryNeeds): Recovery => {
  const endAll = async (answers: readonly UnfinishedAnswer[], under: string | undefined): Promise<number> => {
    const [first] = answers;
    if (first === undefined) return 0;
    const now = clock.now();
    const asks = permissionsRejected(first.info.sessionID, await readOpenPermissions(store, first));
    const fact = joinPublications(asks, ...answers.map((one) => answerClosed(one, now)), turnFailed(first));
    await publisher.publish(first.info.path.cwd, { ...fact, leaseID: under });
    return answers.length;
  };
  const leftIn = async (sessionID: string): Promise<readonly UnfinishedAnswer[]> =>
    (await store.unfinished()).filter(isAssistantMessage).filter(({ info }) => info.sessionID === sessionID);
  const session: Recovery['session'] = async (sessionID, under) => endAll(await leftIn(sessionID), under);
  return {
    session,
    async all() {
      const found = (await store.unfinished()).map(({ info }) => info.sessionID);
      let count = 0;
      for (const sessionID of await leases.withoutOwner([...new Set(found)])) {
        const lease = await leases.acquire(sessionID, () => {});
        try {
          // Somebody else may have seen to it meanwhile.
          count += await session(sessionID, lease.id);
        } finally {
          await lease.release();
        }
      }
      return count;
    },
  };
};
